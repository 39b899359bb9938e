from .fresh import add
from .generated import ANSWERED, of_another_object, stale

for o, k in ANSWERED:
    add(f"{o}.{k} of another", of_another_object(o, k))
    add(f"{o}.{k} stale", stale(o, k))
