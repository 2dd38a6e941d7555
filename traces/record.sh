#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Makes the shipped traces anew: `traces/record.sh [NAME...]`, or only their table: `traces/record.sh --table`.
# Needs `make setup`, Open MPI and MPICH; PYTHON names another interpreter. The work is done by traces/record.py.
set -eu
cd "$(dirname "$0")/.."
export PYTHONPATH="examples/mpi/tests${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-.venv/bin/python}" traces/record.py "$@"
