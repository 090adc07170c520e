def info():
    return {}
