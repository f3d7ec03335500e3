#include <gtest/gtest.h>

#include <cmath>

#include "check.h"

namespace wkvc::test {
namespace {

// Beyond f16's range, and each slab with a magnitude of its own, so that a wrong scale shows in every sum.
template <class Slab>
Values slab_values(DType dtype, long long count, unsigned seed, Slab slab_of) {
  Values x = normal(count, seed);
  for (long long i = 0; i < count; ++i) {
    x[i] = rounded(dtype, x[i]) * std::exp2(20 + 2 * slab_of(i));
  }
  return x;
}

struct Matrix {
  Values values;
  int rows, columns;

  double at(int i, int j) const { return values[i * columns + j]; }
};

// 1 + x·yᵀ for rows from `first` on.
void append_product(Values& to, const Matrix& x, const Matrix& y, int first = 0, int rows = -1) {
  for (int i = first; i < (rows < 0 ? x.rows : first + rows); ++i) {
    for (int j = 0; j < y.rows; ++j) {
      double sum = 1;
      for (int k = 0; k < x.columns; ++k) sum += x.at(i, k) * y.at(j, k);
      to.push_back(sum);
    }
  }
}

Matrix transposed(const Matrix& x) {
  Matrix y{{}, x.columns, x.rows};
  for (int j = 0; j < x.columns; ++j) {
    for (int i = 0; i < x.rows; ++i) y.values.push_back(x.at(i, j));
  }
  return y;
}

void check_slabs(DType dtype, const std::string& name, int c, int v, int k) {
  const Matrix p{slab_values(dtype, c * v, 1, [&](long long i) { return i % v / 16; }), c, v};
  const Matrix s{slab_values(dtype, v * k, 2, [&](long long i) { return i / k / 16; }), v, k};
  const Matrix a{rounded(dtype, normal(c * v, 3)), c, v}, s_t = transposed(s);
  Values pp, pa, sp, sa;
  append_product(pp, p, p);
  for (int i = 0; i < 4; ++i) append_product(pa, p, a);
  append_product(pa, p, a, 0, 16);
  append_product(sp, s_t, p);
  append_product(sp, s_t, p, k - 16, 16);
  for (int i = 0; i < 2; ++i) append_product(sa, s_t, a);
  const auto input = [&](DType storage, const Matrix& x) {
    return Tensor(storage, {1, x.rows, 1, x.columns}).set(x.values);
  };
  const auto output = [&](const Values& x, int columns) {
    return Tensor(DType::f32, {1, static_cast<long long>(x.size()) / columns, 1, columns});
  };
  Launch launch{"slabs", "slabs_" + name + "_" + std::to_string(c) + "_" + std::to_string(v) + "_" + std::to_string(k),
                v / 16, 0x1d000};
  launch.tensors = {input(DType::f32, p), input(DType::f32, s), input(dtype, a), output(pp, c),
                    output(pa, c),        output(sp, c),        output(sa, c)};
  check(launch, {{3, pp, 1e-6}, {4, pa, 1e-6}, {5, sp, 1e-6}, {6, sa, 1e-6}});
}

TEST(Slabs, KeepTheirScalesInContractions) {
  check_slabs(DType::f16, "f16", 16, 64, 64);
  check_slabs(DType::f16, "f16", 32, 32, 16);
  check_slabs(DType::bf16, "bf16", 16, 32, 32);
}

void check_partial_sums(int columns, int parts) {
  const Shape shape{1, 16 * parts, 1, columns};
  const Values x = rounded(DType::f32, normal(shape.size(), 1));
  Values row(columns), column(16), expected;
  for (long long i = 0; i < shape.size(); ++i) {
    row[i % columns] += x[i];
    column[i / columns % 16] += x[i];
  }
  for (int i = 0; i < 16; ++i) expected.insert(expected.end(), row.begin(), row.end());
  for (int i = 0; i < 16; ++i) expected.insert(expected.end(), columns, column[i]);
  Launch launch{"slabs", "partial_sums_" + std::to_string(columns) + "_" + std::to_string(parts), parts};
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, {1, 32, 1, columns})};
  check(launch, {{1, expected, 1e-6}});
}

TEST(PartialSums, AddUp) {
  check_partial_sums(16, 1);
  check_partial_sums(64, 3);
}

void check_column_products(DType dtype, const std::string& name, int rows, int columns) {
  const Shape shape{1, rows, 1, columns};
  const Values x = rounded(dtype, normal(shape.size(), 1)), y = rounded(dtype, normal(shape.size(), 2));
  Values sums(columns), of_rows(columns), expected, at_once, with_rows;
  for (long long i = 0; i < shape.size(); ++i) sums[i % columns] += x[i] * y[i];
  for (int i = 0; i < 16 * columns; ++i) of_rows[i % columns] += x[i];
  for (int i = 0; i < 16; ++i) at_once.insert(at_once.end(), sums.begin(), sums.end());
  for (int i = 0; i < 16 * columns; ++i) with_rows.push_back(at_once[i] + of_rows[i % columns]);
  for (const double sum : at_once) expected.push_back(3 * sum);  // once plain, once times 2
  Launch launch{"slabs", "column_products_" + name, 1, 0x10000};
  const Tensor results(DType::f32, {1, 16, 1, columns});
  launch.tensors = {Tensor(dtype, shape).set(x), Tensor(dtype, shape).set(y), results, results, results};
  check(launch, {{2, expected, 1e-6}, {3, at_once, 1e-6}, {4, with_rows, 1e-6}});
}

TEST(ColumnDots, AreThoseOfEveryColumn) {
  check_column_products(DType::f16, "f16", 64, 32);
  check_column_products(DType::bf16, "bf16", 32, 48);
}

}  // namespace
}  // namespace wkvc::test
