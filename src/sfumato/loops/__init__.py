"""What a step does on a CPU, as compiled loops: products of integers, and all that is between two of them.

torch goes over all of its memory once for each operation, and wakes its threads for each: a norm is four of them, and
rounding the inputs of a product eight, on rows that would fit into the first cache. Here a row is read once, everything
that is to be done is done while it is there, and the next one follows. A row's result depends on nothing but the row,
so it is the same to the last bit with any others beside it and with any number of threads.
"""
