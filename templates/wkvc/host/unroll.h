// Loops with the names of the cuda target's, which unrolls them.
#pragma once

// Evaluates an expression for n = 0 … count - 1.
#define WKVC_FOR(n, count, ...)       \
  for (int n = 0; n < (count); ++n) { \
    static_cast<void>(__VA_ARGS__);   \
  }

// Evaluates an expression for i = 0 … rows - 1, j = 0 … columns - 1 and x = 0 … inner - 1.
#define WKVC_FOR_PLACES(i, rows, j, columns, x, inner, ...) \
  for (int i = 0; i < (rows); ++i)                          \
    for (int j = 0; j < (columns); ++j)                     \
      for (int x = 0; x < (inner); ++x) {                   \
        static_cast<void>(__VA_ARGS__);                     \
      }
