#include "codegen/rec_to_chunk/Decay.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "codegen/ir/DerivedNames.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/rec/Limits.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// The largest |L − L_middle| a factored operand may carry. In f16 the factors e^±x spread an operand over 2x/ln 2
// bits of an exponent range of 30; beyond 7 its small end turns subnormal. With bf16, contractions over tokens have f16
// operands: there 9.7 (0.6065 a token in chunks of 32) costs nothing, and with 14.5 gradients are off by 7 %, measured
// on real activations.
double exponent_limit(const std::string& compute) { return compute == "f16" ? 7.0 : compute == "f32" ? 40.0 : 10.0; }

// With gradients. Those of decays are small differences of sums (see docs/architecture.md): where all tokens decay as
// steeply as their range allows, one channel's is off by 5e-3 in bf16 and 1e-5 in f32; by 2e-1 and 1e-4 with the limits
// above.
double exponent_limit_of_gradients(const std::string& compute) {
  return compute == "f16" ? 7.0 : compute == "f32" ? 24.0 : 8.0;
}

// The largest exponent that factors of pairs have in f32: e^±40 times any element leaves room for e^-40 of the element.
constexpr double kWideExponent = 40;

// A range with a larger exponent often leaves the factors that plain programs have. Its pairs keep their own.
constexpr double kModerateExponent = 10;

constexpr int kMaxExactChunk = 64;

// The range extended to 0, which tokens past the end add to L.
rec::Interval with_zero(rec::Interval range) { return {std::min(range.lo, 0.0), std::max(range.hi, 0.0)}; }

// Takes a power of two for the middle row's decay: the middle of L's range, from which L differs by no more than from
// the middle row where decays are at most 1, but for rounding.
DecayPlan anchored_at_number(DecayPlan plan, rec::Interval of_sums) {
  const double lo = of_sums.lo * plan.chunk, hi = of_sums.hi * plan.chunk;
  const double anchor = std::round((lo + hi) / 2 * std::numbers::log2e), at = anchor * std::numbers::ln2;
  plan.anchor = static_cast<int64_t>(anchor);
  plan.exponent = std::max(hi - at, at - lo);
  return plan;
}

std::string base_name(Value x) {
  if (auto name = name_of(x); !name.empty()) return without_storage(name).str();
  Operation* op = x.getDefiningOp();
  return op && op->getNumOperands() ? base_name(op->getOperand(0)) : "x";
}

// The vectors of a product of them with one number each, or one for all, and the numbers; no values for another
// operation.
std::pair<Value, Value> product_with_number(Operation* op) {
  auto product = llvm::dyn_cast<chunk::MulOp>(op);
  if (!product) return {};
  for (auto [x, number] : {std::pair{product.getX(), product.getY()}, {product.getY(), product.getX()}})
    if (chunk::columns(number) == 1 && x.getType() == product.getType()) return {x, number};
  return {};
}

// Of the matrix that pairs reads q with writes k.
std::string pair_name(Value q, Value k) { return llvm::StringRef(base_name(q) + base_name(k)).upper(); }

Value named(Value x, const std::string& name) {
  if (name_of(x).empty()) set_name(x, name);
  return x;
}

}  // namespace

DecayPlan plan_decay(const MatrixForm& next, const std::string& compute, bool gradients, int requested) {
  int chunk = requested ? requested : 16;
  if (!next.log_decay) return {DecayPath::none, chunk, 0};
  Operation* at = next.scaled;
  const rec::Interval log_range = next.log_range;
  if (chunk::columns(next.log_decay) == 1 && log_range.hi <= 0) {
    if (chunk > kMaxExactChunk)
      user_error_at(at, "--chunk {}: decays of one number a token have chunks of at most {}; choose --chunk {}", chunk,
                    kMaxExactChunk, kMaxExactChunk);
    return {DecayPath::pairwise, chunk, 0};
  }
  const rec::Interval of_sums = with_zero(log_range);
  double steepest = !log_range.bounded()           ? INFINITY
                    : rec::has_wide_range(compute) ? of_sums.hi - of_sums.lo
                                                   : log_range.magnitude();
  // Decays above 1 have but the anchored path.
  const bool limits_gradients = gradients && log_range.hi <= 0;
  const double limit = limits_gradients ? exponent_limit_of_gradients(compute) : exponent_limit(compute);
  int largest = std::isinf(steepest) ? 0 : static_cast<int>(std::min(256.0, 2 * limit / steepest)) / 16 * 16;
  if (largest < 16) {
    if (log_range.hi > 0)
      user_error_at(
          at,
          "a decay may exceed 1: its log is in [{:.4g}, {:.4g}] a token. The exact path, which decays without a bound "
          "or with a steep one take, has factors of at most 1; declare the range of the log of the decay, .in(lo, 0), "
          "or "
          "of the decay, .in(0, 1); texts of the rec stage say in [lo, 0.0] or in [0.0, 1.0]",
          log_range.lo, log_range.hi);
    if (chunk > kMaxExactChunk)
      user_error_at(
          at,
          "--chunk {}: decays without a bound take the exact path, whose chunk is at most {}; declare a range, "
          ".in(lo, hi) or in texts of the rec stage in [lo, hi], or choose --chunk {}",
          chunk, kMaxExactChunk, kMaxExactChunk);
    const DecayPlan exact{DecayPath::exact, chunk, 0};
    if (compute == "f32" || steepest * chunk / 2 > kWideExponent) return exact;
    return anchored_at_number({DecayPath::wide, chunk, 0}, of_sums);
  }
  if (chunk > largest)
    user_error_at(
        at,
        "--chunk {}: log decays reach {:.4g} a token, so e^±L over half a chunk leaves the range of {} operands{}; "
        "the largest chunk that fits is {}",
        chunk, log_range.lo, compute, limits_gradients ? ", with gradients" : "", largest);
  const DecayPlan plan{DecayPath::anchored, chunk, steepest * chunk / 2, std::exp(of_sums.hi * chunk / 2)};
  return rec::has_wide_range(compute) ? anchored_at_number(plan, of_sums) : plan;
}

IntegerAttr state_exponent(const DecayPlan& plan, Builder& builder) {
  return plan.path == DecayPath::anchored && plan.anchor ? builder.getI64IntegerAttr(*plan.anchor) : IntegerAttr();
}

// As if decays were moderate. Without scales, too: with the smallest inputs that a guard lets pass decays of e^-7 cost
// 4e-4 of a result, of e^-9 3e-3 (emulated).
static DecayPlan moderate(const DecayPlan& exact) {
  return {DecayPath::anchored, exact.chunk, exponent_limit("f16"), 1, /*checked=*/true};
}

// A number where decays are at most 1: what it takes of f16's range steep decays take from a row, too.
std::optional<DecayPlan> plan_of_plain(const MatrixForm& next, const DecayPlan& plan) {
  if (plan.path == DecayPath::exact) return moderate(plan);
  if (plan.path == DecayPath::wide && plan.exponent <= kModerateExponent) return moderate(plan);
  if (plan.path != DecayPath::anchored || plan.anchor || next.log_range.hi > 0) return std::nullopt;
  return anchored_at_number(plan, with_zero(next.log_range));
}

Decay::Decay(ChunkBuilder& builder, DecayPlan plan, const MatrixForm& next, int64_t key_dim)
    : b_(builder), plan_(plan), key_dim_(key_dim), decay_(next.decay) {
  if (plan_.path == DecayPath::none) return;
  const bool of_tokens = plan_.path == DecayPath::pairwise;
  Value log_decay = b_.spread(next.log_decay, plan_.chunk, of_tokens ? 1 : key_dim, of_tokens ? "T1" : "TK");
  // Summed in units of log 2, so that each factor is one exp2.
  Value log_w = named(b_.scale(log_decay, std::numbers::log2e), "log2_w");
  log_w_ = named(b_.keep_valid(log_w), "log_w_valid");
  if (of_tokens)
    sum_pairs();
  else if (plan_.path == DecayPath::exact)
    sum_blocks();
  else if (plan_.path == DecayPath::wide)
    anchor_pairs();
  else
    anchor();
}

// Each exponent is a sum of the log decays that it crosses, in the chunk's rows of one number as in the matrix of
// pairs: a difference of running sums has no digits left where decays are steep, nor has its gradient.
Decay::Factors Decay::chunk_ends() {
  const auto sum_before = [&] { return named(b_.cumsum(log_w_, /*reverse=*/false, /*exclusive=*/true), "L_before"); };
  if (plan_.path == DecayPath::wide) L_before_ = sum_before();
  // Of channels one pass over the rows is for both sums, and one for both gradients.
  L_ = named(L_before_ ? b_.add(L_before_, log_w_) : b_.cumsum(log_w_), "L");
  Value after = at_most(named(b_.exp2(L_), "e_L"), 1);
  if (!L_before_) L_before_ = sum_before();
  Value before = at_most(b_.exp2(L_before_), 1);
  Value write = at_most(b_.exp2(named(b_.cumsum(log_w_, /*reverse=*/true, /*exclusive=*/true), "L_behind")), 1);
  return {after, before, write};
}

void Decay::sum_pairs() {
  to_ends_ = chunk_ends();
  last_ = named(b_.row(b_.spread(L_, plan_.chunk, key_dim_, "TK"), plan_.chunk - 1), "L_last");
  Value crossed = b_.tril(b_.spread(log_w_, plan_.chunk, plan_.chunk, "TT"), /*strict=*/true);
  Value before = b_.cumsum(crossed, /*reverse=*/false, /*exclusive=*/true);
  pairs_after_ = named(at_most(b_.exp2(named(b_.cumsum(crossed), "L_pairs")), 1), "e_pairs");
  pairs_before_ = named(at_most(b_.exp2(named(before, "L_pairs_before")), 1), "e_pairs_before");
}

Decay::Factors Decay::around(Value anchor) {
  const double largest = std::exp(plan_.exponent);
  return {at_most(b_.exp2(b_.sub(L_, anchor)), largest), at_most(b_.exp2(b_.sub(L_before_, anchor)), largest),
          at_most(b_.exp2(b_.sub(anchor, L_)), largest)};
}

void Decay::anchor() {
  L_ = named(b_.cumsum(log_w_), "L");
  L_before_ = named(b_.sub(L_, log_w_), "L_before");
  last_ = named(b_.row(L_, plan_.chunk - 1), "L_last");
  middle_ = plan_.anchor ? b_.number(static_cast<double>(*plan_.anchor))
                         : named(checked(b_.row(L_, plan_.chunk / 2 - 1, /*anchor=*/true)), "L_middle");
  to_ends_ = of_pairs_ = around(middle_);
}

void Decay::anchor_pairs() {
  to_ends_ = chunk_ends();
  last_ = named(b_.row(L_, plan_.chunk - 1), "L_last");
  of_pairs_ = around(b_.number(static_cast<double>(*plan_.anchor)));
}

// Of blocks of 2·half tokens from those of `half`. Nothing is subtracted: what a difference leaves of a steep decay is
// the rounding of its neighbours, in the exponent as in its gradient.
Decay::BlockSums Decay::doubled(const BlockSums& sums, uint64_t half) {
  auto plus = [&](Value sum, Value term) { return sum ? b_.add(sum, term) : term; };
  Value other = b_.last_of_other_half(sums.through, half);
  Value before = plus(sums.before, b_.upper_rows(other, half));
  Value behind = plus(sums.behind, b_.lower_rows(other, half));
  if (2 * half < static_cast<uint64_t>(plan_.chunk)) named(before, fmt::format("L_before{}", 2 * half));
  return {b_.add(before, log_w_), before, behind};
}

// For every level, and for the chunk as a whole.
void Decay::sum_blocks() {
  const auto chunk = static_cast<uint64_t>(plan_.chunk);
  BlockSums sums{log_w_, {}, {}};
  for (uint64_t half = 1; half < chunk; half *= 2) {
    sums_[half] = sums;
    sums = doubled(sums, half);
  }
  L_ = named(sums.through, "L");
  last_ = named(b_.row(L_, plan_.chunk - 1), "L_last");
  to_ends_ = {at_most(b_.exp2(L_), 1), at_most(b_.exp2(named(sums.before, "L_before")), 1),
              at_most(b_.exp2(named(sums.behind, "L_behind")), 1)};
}

Value Decay::at_most(Value x, double magnitude) {
  b_.set_at_most(x, magnitude);
  return x;
}

// Whether the range holds is seen at the middle and the end: what lies between is no less.
Value Decay::checked(Value decay_over_half) {
  if (!plan_.checked) return decay_over_half;
  return b_.not_below(decay_over_half, static_cast<float>(-plan_.exponent * std::numbers::log2e));
}

Value Decay::factored(Value x, Value factor, const std::string& suffix) {
  Value& cached = cache_[{x, factor}];
  if (cached) return cached;
  cached = b_.mul(x, factor);
  set_name(cached, base_name(x) + suffix);
  return cached;
}

// Decayed up to the anchor: by a number it is decayed as it comes.
Value Decay::state(Value S0) {
  if (state_) return state_;
  const bool at_row = plan_.path == DecayPath::anchored && !plan_.anchor;
  state_ = at_row ? named(b_.mul(S0, at_most(named(b_.exp2(middle_), "e_middle"), plan_.growth)), "S_middle") : S0;
  b_.set_measurable(state_);
  return state_;
}

// q∘e^L after the update, or q∘e^(L−log_w) before it.
Value Decay::decayed_read(Value q, bool after) {
  if (plan_.path == DecayPath::none) return q;
  return factored(q, to_ends_.of_read(after), "_in");
}

Value Decay::read(Value S0, Value q, bool after) {
  if (plan_.path == DecayPath::pairwise) return read_decayed(S0, q, after);
  return b_.dot(decayed_read(q, after), 1, state(S0), 1);
}

// Numbers of tokens need not be in the operands of contractions: they multiply what is contracted.
Decay::Read Decay::parts_of(Value q, bool after) {
  Read parts{q, {}, after};
  double constant = 1;
  bool valid = false;
  for (Operation* op = q.getDefiningOp();; op = parts.x.getDefiningOp()) {
    auto [rest, number] = product_with_number(op);
    if (!rest && !llvm::isa<chunk::NegOp, chunk::KeepValidOp>(op)) break;
    parts.x = rest ? rest : op->getOperand(0);
    if (llvm::isa<chunk::NegOp>(op))
      constant = -constant;
    else if (!rest)
      valid = true;
    else if (number == decay_ && !parts.decayed)
      parts.decayed = true;
    else if (auto of_all = number.getDefiningOp<chunk::ConstantOp>())
      constant *= of_all.getValue().convertToDouble();
    else
      parts.coefficient = parts.coefficient ? b_.mul(parts.coefficient, number) : number;
  }
  if (valid) parts.x = b_.zero_past_end(parts.x);
  if (valid && parts.coefficient) parts.coefficient = b_.keep_valid(parts.coefficient);
  if (constant != 1)
    parts.coefficient = parts.coefficient ? b_.scale(parts.coefficient, constant) : b_.number(constant);
  return parts;
}

// None if nothing bounds it.
std::optional<double> Decay::largest_coefficient(const Read& parts) {
  if (!parts.coefficient) return 1;
  const auto bound = bound_of(parts.coefficient);
  return bound && bound->is_number() ? std::optional(bound->factor) : std::nullopt;
}

// A coefficient with a bound goes with the decay, another one multiplies what was read: operands need bounds.
Value Decay::read_decayed(Value S0, Value q, bool after) {
  const Read parts = parts_of(q, after);
  Value factor = to_ends_.of_read(parts.decayed), coefficient = parts.coefficient;
  const bool inside = coefficient && largest_coefficient(parts);
  if (inside) factor = b_.mul(factor, coefficient);
  Value read = b_.dot(factored(parts.x, factor, "_in"), 1, state(S0), 1);
  return coefficient && !inside ? b_.mul(read, coefficient) : read;
}

// x·k of each pair of tokens, decayed from one to the other.
Value Decay::decayed_product(const Read& parts, Value k) {
  Value product = b_.mul(b_.dot(parts.x, 1, k, 1), parts.decayed ? pairs_after_ : pairs_before_);
  return parts.coefficient ? b_.mul(product, parts.coefficient) : product;
}

Value Decay::write(Value k) {
  if (plan_.path == DecayPath::none) return k;
  return factored(k, to_ends_.write, "_out");
}

// Factors by which reads in upper halves, and writes in lower ones, decay to the middles of blocks of 2·half tokens.
// From one token to the next it is the read's own decay, and writes do not decay.
Value Decay::to_middles(bool after, uint64_t half) {
  Value& factor = to_middles_[{after, half}];
  if (factor) return factor;
  const BlockSums& sums = sums_.at(half);
  Value exponents = half == 1 ? log_w_ : b_.select_halves(after ? sums.through : sums.before, sums.behind, half);
  return factor = named(at_most(b_.exp2(exponents), 1), fmt::format("e_level{}", half));
}

Value Decay::read_level(Value q, bool after, uint64_t half) {
  if (half == 1 && !after) return q;
  return factored(q, to_middles(after, half), fmt::format("_level{}", half));
}

// Lower halves have the same factors whether reads are before the update or after it.
Value Decay::write_level(Value k, bool after, uint64_t half) {
  if (half == 1) return k;
  bool before = !after || to_middles_.contains({false, half});
  return factored(k, to_middles(!before, half), fmt::format("_level{}", half));
}

// Σ over the levels of blocks of 2·half tokens, each a contraction of which the pairs count that lie in different
// halves of one block.
Value Decay::pair_by_levels(Value q, bool after, Value k) {
  const std::string name = pair_name(q, k);
  Value sum = after ? b_.diagonal_dot(q, k) : Value();
  for (uint64_t half = std::bit_floor(static_cast<uint64_t>(plan_.chunk - 1)); half >= 1; half /= 2) {
    Value x = read_level(q, after, half), y = write_level(k, after, half);
    Value level = named(b_.level_pairs(b_.precise_dot(x, 1, y, 1), half), fmt::format("{}_level{}", name, half));
    sum = sum ? b_.add(sum, level) : level;
  }
  return sum;
}

Value Decay::wide_product(Value q, bool after, Value k) {
  Value x = factored(q, of_pairs_.of_read(after), "_pairs"), y = factored(k, of_pairs_.write, "_pairs");
  return b_.wide_dot(x, 1, y, 1);
}

Value Decay::pair(Value q, bool after, Value k) {
  const Read parts = plan_.path == DecayPath::pairwise ? parts_of(q, after) : Read{q, {}, after};
  Value result;
  if (plan_.path == DecayPath::exact)
    result = pair_by_levels(q, after, k);
  else if (plan_.path == DecayPath::pairwise)
    result = b_.tril(decayed_product(parts, k), !after);
  else if (plan_.path == DecayPath::wide)
    result = b_.tril(wide_product(q, after, k), !after);
  else
    result = b_.tril(b_.dot(decayed_read(q, after), 1, write(k), 1), !after);
  set_name(result, pair_name(parts.x, k));
  bound_pairs(result, parts, k);
  b_.set_measurable(result);
  return result;
}

// However far either decays by itself, a pair does so only from one token to the other. Of inputs alone: what is
// computed may be larger past the sequence's end.
void Decay::bound_pairs(Value pairs, const Read& parts, Value k) {
  auto x = stored(parts.x).getDefiningOp<chunk::InputOp>(), y = stored(k).getDefiningOp<chunk::InputOp>();
  const auto coefficient = largest_coefficient(parts);
  if (!x || !y || x->hasAttr("at_most") || y->hasAttr("at_most") || !coefficient) return;
  b_.set_at_most(pairs, static_cast<double>(chunk::columns(k)) * plan_.growth * plan_.growth * *coefficient,
                 {x.getSym().str(), y.getSym().str()});
}

Value Decay::finish(Value S0, ValueRange writes) {
  const bool decays_first = plan_.path != DecayPath::none && plan_.path != DecayPath::anchored;
  Value sum = decays_first ? named(b_.mul(S0, at_most(named(b_.exp2(last_), "e_last"), 1)), "S_decayed") : state(S0);
  for (Value term : writes) sum = b_.add(sum, term);
  if (plan_.path != DecayPath::anchored) return sum;
  named(sum, base_name(S0) + "_sum");
  const double growth = plan_.anchor ? plan_.growth * plan_.growth : plan_.growth;  // over the chunk, or half of it
  Value exponent = plan_.anchor ? last_ : checked(b_.sub(last_, middle_));
  return b_.mul(sum, at_most(named(b_.exp2(exponent), "e_last"), growth));
}

}  // namespace wkvc
