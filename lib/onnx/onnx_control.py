TABLE = []
