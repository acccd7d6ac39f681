# json.decoder: its classes, as of json.
from json import JSONDecodeError, JSONDecoder
