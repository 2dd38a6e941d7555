/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "interpreter.h"
#include "layout.h"

enum { VECTOR_BLOCK = 8, VECTOR_STRIDE = 12, REVERSED_BLOCK = 512, RESIZED_EXTENT = 3 };

size_t layout_span(int layout, size_t n) {
  if (layout == LAYOUT_VECTOR) return n / VECTOR_BLOCK * VECTOR_STRIDE + n % VECTOR_BLOCK;
  return layout == LAYOUT_RESIZED ? n * RESIZED_EXTENT : n;
}

size_t layout_place(int layout, size_t n, size_t i) {
  const size_t whole = n / REVERSED_BLOCK, rest = n % REVERSED_BLOCK, block = i / REVERSED_BLOCK;
  switch (layout) {
    case LAYOUT_VECTOR: return i / VECTOR_BLOCK * VECTOR_STRIDE + i % VECTOR_BLOCK;
    case LAYOUT_RESIZED: return i * RESIZED_EXTENT;
    case LAYOUT_REVERSED:
      return block == whole ? i % REVERSED_BLOCK : rest + (whole - 1 - block) * REVERSED_BLOCK + i % REVERSED_BLOCK;
    default: return i;
  }
}

int layout_gap(int layout, size_t at) {
  if (layout == LAYOUT_VECTOR) return at % VECTOR_STRIDE >= VECTOR_BLOCK;
  return layout == LAYOUT_RESIZED && at % RESIZED_EXTENT != 0;
}

int has_gaps(int layout) { return layout == LAYOUT_VECTOR || layout == LAYOUT_RESIZED; }

MPI_Datatype layout_type(int layout, int n, int *count) {
  MPI_Datatype made = MPI_BYTE;
  *count = layout == LAYOUT_BYTES || layout == LAYOUT_RESIZED ? n : 1;
  if (layout == LAYOUT_BYTES) return made;
  if (layout == LAYOUT_CONTIGUOUS) {
    MPI_Type_contiguous(n, MPI_BYTE, &made);
  } else if (layout == LAYOUT_RESIZED) {
    MPI_Type_create_resized(MPI_BYTE, 0, RESIZED_EXTENT, &made);
  } else if (layout == LAYOUT_VECTOR) {
    const int blocks = n / VECTOR_BLOCK, lengths[2] = {1, n % VECTOR_BLOCK};
    const MPI_Aint displacements[2] = {0, (MPI_Aint)blocks * VECTOR_STRIDE};
    MPI_Datatype parts[2] = {MPI_BYTE, MPI_BYTE};
    MPI_Type_vector(blocks, VECTOR_BLOCK, VECTOR_STRIDE, MPI_BYTE, &parts[0]);
    MPI_Type_create_struct(2, lengths, displacements, parts, &made);
    MPI_Type_free(&parts[0]);
  } else {
    const int blocks = n / REVERSED_BLOCK + 1;
    int *lengths = malloc((size_t)blocks * sizeof *lengths);
    MPI_Aint *displacements = malloc((size_t)blocks * sizeof *displacements);
    if (lengths == NULL || displacements == NULL) give_up("out of memory", "datatypes");
    for (int i = 0; i < blocks; i++) {
      lengths[i] = i + 1 < blocks ? REVERSED_BLOCK : n % REVERSED_BLOCK;
      displacements[i] = (MPI_Aint)layout_place(layout, (size_t)n, (size_t)i * REVERSED_BLOCK);
    }
    MPI_Type_create_hindexed(blocks, lengths, displacements, MPI_BYTE, &made);
    free(lengths);
    free(displacements);
  }
  MPI_Type_commit(&made);
  return made;
}

void layout_free(MPI_Datatype *made) {
  if (*made != MPI_BYTE) MPI_Type_free(made);
  *made = MPI_BYTE;
}
