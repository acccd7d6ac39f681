# json.encoder: its class, as of json.
from json import JSONEncoder
