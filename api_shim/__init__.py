"""One read, straight through: doors -> read.py -> sources; writes leave by accept.py and remove.py."""
