# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sends objects of Python from rank 0 to rank 1, and prints what mpi4py put into each message, in bytes."""

from mpi4py import MPI

world = MPI.COMM_WORLD
objects = [{"tag": tag, "list": list(range(100 * tag))} for tag in range(4)]
if world.rank == 0:
    for tag, thing in enumerate(objects):
        world.send(thing, dest=1, tag=tag)
    print("sent", *(len(MPI.pickle.dumps(thing)) for thing in objects))
else:
    received = [world.recv(source=MPI.ANY_SOURCE, tag=tag) for tag in range(4)]
    assert received == objects
