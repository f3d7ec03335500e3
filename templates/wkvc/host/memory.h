// Neighbouring elements of a row, and whole blocks.
#pragma once

#include <atomic>
#include <cstring>

#include "wkvc/host/fragment.h"
#include "wkvc/host/layout.h"
#include "wkvc/host/scalar.h"

namespace wkvc::memory {

inline void load_adjacent(const float* from, float (&x)[2]) {
  x[0] = from[0];
  x[1] = from[1];
}

template <class T>
T* behind(T* address, int count, int bytes) {
  return address + static_cast<long long>(count) * (bytes / static_cast<int>(sizeof(T)));
}
inline int kept(int x) { return x; }
template <class T>
T* kept_apart(T* address) {
  return address;
}

// To and from rows in global memory: runs of one column.
template <class T>
inline constexpr int kRuns = 16;

template <class T>
int run_column(int n) {
  return n;
}
template <class T>
constexpr int run_unit(int s, int n) {
  return layout::element(s, n);
}
template <class T>
const Fragment<T>& in_runs(const Fragment<T>& x) {
  return x;
}
template <class T>
const Fragment<T>& out_of_runs(const Fragment<T>& x) {
  return x;
}
template <class T>
T load_unit(const T* first, const T*) {
  return *first;
}
template <int N, class T>
void load_neighbours(const T* from, T* units) {
  for (int n = 0; n < N; ++n) units[n] = from[n];
}
template <class T>
void load_run(const T* from, T* units, bool) {
  *units = *from;
}
template <class T>
void store_run(T* to, const T* units, bool) {
  *to = *units;
}

// A 16x16 block as the thread holds it.
template <class T>
void store_block(T* at, const Fragment<T>& x) {
  std::memcpy(at, x.unit, sizeof(x.unit));
}
template <class T>
Fragment<T> load_block(const T* at) {
  Fragment<T> x;
  std::memcpy(x.unit, at, sizeof(x.unit));
  return x;
}

// Reports a number above 0 to a word that blocks of several sequences may report to at once. The largest stays.
inline void report(int& to, int number) {
  const std::atomic_ref<int> word(to);
  int largest = word.load(std::memory_order_relaxed);
  while (largest < number && !word.compare_exchange_weak(largest, number, std::memory_order_relaxed)) {
  }
}

}  // namespace wkvc::memory
