// The C interface: exceptions become statuses, and what they say a message of the calling thread.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "codegen/config/options.h"
#include "codegen/config/parse_mistake.h"
#include "codegen/target/Target.h"
#include "dsl/registry.h"
#include "jit/jit.h"
#include "jit/signature.h"
#include "jit/wkvc.h"
#include "runtime/base/escape.h"
#include "runtime/base/machine_fault.h"
#include "runtime/error.h"
#include "runtime/launch/launch_size.h"
#include "runtime/launch/saved_row.h"
#include "runtime/version.h"

static_assert(sizeof(wkvc_report) == sizeof(wkvc::SequenceReport), "one layout");

struct wkvc_operator {
  std::shared_ptr<const wkvc::Operator> kernels;
  std::vector<std::string> dims[2];  // of each pass' tensors, as wkvc_tensor_info has them
};

namespace wkvc {
namespace {

thread_local std::string message, emitted, described;

// Runs f; never throws.
template <class F>
wkvc_status guarded(const F& f) noexcept {
  const auto failed = [](wkvc_status status, const char* what) {
    try {
      message = escaped_text(what);
    } catch (...) {
      message.clear();
    }
    return status;
  };
  try {
    f();
    return WKVC_OK;
  } catch (const UserError& error) {
    return failed(WKVC_USER_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return failed(WKVC_OUT_OF_MEMORY, "there is not enough memory on the host");
  } catch (const std::system_error& error) {
    return failed(WKVC_USER_ERROR, refusal_text(error).c_str());
  } catch (const std::exception& error) {
    return failed(WKVC_INTERNAL_ERROR, error.what());
  } catch (...) {  // a recurrence's body may throw anything
    return failed(WKVC_INTERNAL_ERROR, "something was thrown that is no exception of the standard library");
  }
}

Direction direction_of(wkvc_pass pass) {
  if (pass != WKVC_FORWARD && pass != WKVC_BACKWARD) {
    user_error("the pass is {}, expected WKVC_FORWARD or WKVC_BACKWARD", static_cast<int>(pass));
  }
  return pass == WKVC_FORWARD ? Direction::forward : Direction::backward;
}

Target target_of(wkvc_target target) {
  if (target != WKVC_CUDA && target != WKVC_HOST) {
    user_error("the target is {}, expected WKVC_CUDA or WKVC_HOST", static_cast<int>(target));
  }
  return target == WKVC_CUDA ? Target::cuda : Target::host;
}

void expect_given(const void* pointer, const char* name) {
  if (pointer == nullptr) user_error("{} is null", name);
}

Checks checks_of(wkvc_checks checks) {
  if (checks != WKVC_CHECK_LAYOUT && checks != WKVC_CHECK_MEMORY) {
    user_error("the checks are {}, expected WKVC_CHECK_LAYOUT or WKVC_CHECK_MEMORY", static_cast<int>(checks));
  }
  return checks == WKVC_CHECK_MEMORY ? Checks::memory : Checks::layout;
}

// Quotes hold values with blanks together; one that does not end would be dropped.
void expect_closed_quotes(std::string_view options) {
  char open = 0;
  for (const char c : options) {
    if (open == 0 && (c == '"' || c == '\'')) {
      open = c;
    } else if (c == open) {
      open = 0;
    }
  }
  if (open != 0) user_error("the options \"{}\" have a quote, {}, that does not end", options, open);
}

constexpr std::array<DType, 3> dtypes{DType::f32, DType::f16, DType::bf16};  // by wkvc_dtype

wkvc_dtype code_of(DType dtype) { return static_cast<wkvc_dtype>(std::ranges::find(dtypes, dtype) - dtypes.begin()); }

struct Options {
  Config config;
  LaunchSize size = PrepareOptions{}.size;
  std::int64_t sequences = PrepareOptions{}.sequences;
};

// As the command line parses them. `default_pass` holds without --pass.
Options options_from(const char* options, const std::string& default_pass) {
  if (options != nullptr) expect_closed_quotes(options);
  CLI::App app;
  app.set_help_flag();  // nobody to show it to
  ConfigOptions parsed;
  parsed.add_to(app);
  std::string shape;
  app.add_option("--shape", shape, "Batch, tokens and heads that settings are chosen for")->type_name("B,T,H");
  std::string sequences = "1";
  app.add_option("--sequences", sequences, "Sequences that lie one behind the other in a batch then");
  try {
    app.parse(options == nullptr ? "" : options, /*program_name_included=*/false);
  } catch (const CLI::ParseError& error) {
    user_error("the options \"{}\": {}", options, mistake_text(error, app));
  }
  Options result{.config = parsed.parse(default_pass), .sequences = parse_sequence_count(sequences)};
  if (!shape.empty()) result.size = parse_shape(shape);
  return result;
}

bool is_name(std::string_view recurrence) { return recurrence.find('\n') == std::string_view::npos; }

std::shared_ptr<const Operator> prepared(std::string_view recurrence, const char* options, Target target) {
  const auto prepared_with = [&](const auto& what, const std::string& default_pass) {
    const Options parsed = options_from(options, default_pass);
    return prepare(what, parsed.config, {.target = target, .size = parsed.size, .sequences = parsed.sequences});
  };
  if (is_name(recurrence)) return prepared_with(recurrence, "forward");
  const Source source = source_from(std::string(recurrence));
  return prepared_with(source, has_backward(source) ? "both" : "forward");
}

Stage stage_from(std::string_view name) {
  const auto* const found = std::ranges::find(stage_names, name);
  if (found == stage_names.end()) user_error("the stage is '{}', expected {}", name, fmt::join(stage_names, ", "));
  return static_cast<Stage>(found - stage_names.begin());
}

std::string emitted_text(std::string_view recurrence, const char* options, Stage stage) {
  if (is_name(recurrence)) {
    const Config config = options_from(options, "forward").config;
    return lower_to(rec_source(Registry::known().find(recurrence), config), stage, config);
  }
  const Source source = source_from(std::string(recurrence));
  return lower_to(source, stage, options_from(options, has_backward(source) ? "both" : "forward").config);
}

std::vector<std::string> dims_of(const Operator& op, Direction pass) {
  std::vector<std::string> texts;
  if (!op.has(pass)) return texts;
  for (const TensorSpec& spec : op.tensors(pass)) texts.push_back(fmt::format("{}", fmt::join(spec.dims, " ")));
  return texts;
}

// Of a tensor that is left out nothing but its data is read. One without elements may have no data.
Tensor tensor_from(const wkvc_tensor& given, std::size_t index, LaunchSize size) {
  if (given.data == nullptr && (given.rank == 0 || !size.is_empty())) return {};
  if (given.rank < 0 || given.rank > static_cast<int>(Extents::max_rank)) {
    user_error("tensor {} has rank {}, expected at most {}", index, given.rank, Extents::max_rank);
  }
  if (given.dtype < 0 || given.dtype >= static_cast<int>(dtypes.size())) {
    user_error("tensor {} has dtype {}, expected WKVC_F32, WKVC_F16 or WKVC_BF16", index, given.dtype);
  }
  if (given.rank > 0) expect_given(given.shape, "a tensor's shape");
  const auto rank = static_cast<std::size_t>(given.rank);
  Tensor tensor{given.data, dtypes[static_cast<std::size_t>(given.dtype)], Extents(std::span(given.shape, rank)), {}};
  tensor.strides =
      given.strides == nullptr ? contiguous_strides(tensor.shape) : Extents(std::span(given.strides, rank));
  return tensor;
}

LaunchSize size_from(const wkvc_sequences* sequences, std::int64_t tokens, std::int64_t heads) {
  expect_given(sequences, "sequences");
  const auto& [count, layout, starts, slots, slot_count, shared_heads, report] = *sequences;
  if (layout != WKVC_BATCHES && layout != WKVC_STARTS_32 && layout != WKVC_STARTS_64) {
    user_error("sequences.layout is {}, expected WKVC_BATCHES, WKVC_STARTS_32 or WKVC_STARTS_64", layout);
  }
  if (layout == WKVC_BATCHES && starts != nullptr) user_error("sequences.starts are given, expected none for batches");
  LaunchSize size{layout == WKVC_BATCHES ? count : 1, tokens, heads};
  if (layout != WKVC_BATCHES) size.map = SequenceMap{count, starts, layout == WKVC_STARTS_64};
  if (slots != nullptr) size.slots = SlotMap{slot_count, slots};
  size.shared_heads = shared_heads;
  size.report = reinterpret_cast<SequenceReport*>(report);
  return size;
}

LaunchSize size_of_launch(std::int64_t batches, std::int64_t tokens, std::int64_t heads,
                          const wkvc_sequences* sequences) {
  if (sequences == nullptr) return {batches, tokens, heads};
  const LaunchSize size = size_from(sequences, tokens, heads);
  if (size.batches == batches) return size;
  user_error("B = {}, expected {}: sequences one behind the other have 1 batch, others as many as there are", batches,
             size.batches);
}

// Launches a pass; `workspace` is as one of Operator::launch takes it.
template <class Workspace>
void launch(const wkvc_operator* op, wkvc_pass pass, const LaunchSize& size, const wkvc_tensor* tensors, int32_t count,
            Workspace workspace, void* stream, wkvc_checks checks) {
  expect_given(op, "op");
  const Direction direction = direction_of(pass);
  const std::size_t expected = op->kernels->tensors(direction).size();
  if (count < 0 || static_cast<std::size_t>(count) != expected) {
    user_error("{} tensors were given, the pass takes {}", count, expected);
  }
  if (expected > 0) expect_given(tensors, "tensors");
  std::array<Tensor, Operator::max_tensors> given;
  for (std::size_t i = 0; i < expected; ++i) given[i] = tensor_from(tensors[i], i, size);
  op->kernels->launch(direction, std::span<const Tensor>(given).first(expected), size, workspace, stream,
                      checks_of(checks));
}

}  // namespace
}  // namespace wkvc

using namespace wkvc;

const char* wkvc_version() { return wkvc::wkvc_version().data(); }  // ends with a NUL

int32_t wkvc_runs_on(int32_t compute_major, int32_t compute_minor) {
  return runs_kernels(compute_major, compute_minor) ? 1 : 0;
}

const char* wkvc_message() { return message.c_str(); }

wkvc_status wkvc_prepare(const char* recurrence, const char* options, wkvc_target target, wkvc_operator** result) {
  return guarded([&] {
    expect_given(static_cast<const void*>(result), "result");
    *result = nullptr;
    expect_given(recurrence, "recurrence");
    auto op = std::make_unique<wkvc_operator>();
    op->kernels = prepared(recurrence, options, target_of(target));
    for (const Direction pass : {Direction::forward, Direction::backward}) {
      op->dims[static_cast<std::size_t>(pass)] = dims_of(*op->kernels, pass);
    }
    *result = op.release();
  });
}

wkvc_status wkvc_emit(const char* recurrence, const char* options, const char* stage, const char** result) {
  return guarded([&] {
    expect_given(static_cast<const void*>(result), "result");
    *result = nullptr;
    expect_given(recurrence, "recurrence");
    expect_given(stage, "stage");
    emitted = emitted_text(recurrence, options, stage_from(stage));
    *result = emitted.c_str();
  });
}

wkvc_status wkvc_signature(const char* recurrence, const char* options, const char** result) {
  return guarded([&] {
    expect_given(static_cast<const void*>(result), "result");
    *result = nullptr;
    expect_given(recurrence, "recurrence");
    const std::string text = emitted_text(recurrence, options, Stage::rec);
    described = signature_json(
        text, is_name(recurrence) ? options_of(Registry::known().find(recurrence)) : std::vector<OptionInfo>());
    *result = described.c_str();
  });
}

wkvc_status wkvc_names(const char** result) {
  return guarded([&] {
    expect_given(static_cast<const void*>(result), "result");
    described = fmt::format("{}", fmt::join(Registry::known().names(), " "));
    *result = described.c_str();
  });
}

void wkvc_release(wkvc_operator* op) { delete op; }

int32_t wkvc_tensor_count(const wkvc_operator* op, wkvc_pass pass) {
  if (op == nullptr || (pass != WKVC_FORWARD && pass != WKVC_BACKWARD)) return 0;
  return static_cast<int32_t>(op->dims[pass].size());
}

wkvc_status wkvc_tensor_at(const wkvc_operator* op, wkvc_pass pass, int32_t index, wkvc_tensor_info* result) {
  return guarded([&] {
    expect_given(op, "op");
    expect_given(result, "result");
    const auto tensors = op->kernels->tensors(direction_of(pass));
    if (index < 0 || static_cast<std::size_t>(index) >= tensors.size()) {
      user_error("there is no tensor {}: the pass has {}", index, tensors.size());
    }
    const TensorSpec& spec = tensors[static_cast<std::size_t>(index)];
    *result = {spec.name.c_str(),
               op->dims[pass][static_cast<std::size_t>(index)].c_str(),
               static_cast<int32_t>(spec.dims.size()),
               code_of(spec.dtype),
               is_result(spec.role),
               is_optional(spec.role)};
  });
}

wkvc_status wkvc_workspace_bytes(const wkvc_operator* op, int64_t batches, int64_t tokens, int64_t heads,
                                 int64_t* result) {
  return guarded([&] {
    expect_given(op, "op");
    expect_given(result, "result");
    *result = op->kernels->workspace_bytes({batches, tokens, heads});
  });
}

wkvc_status wkvc_sequences_workspace_bytes(const wkvc_operator* op, const wkvc_sequences* sequences, int64_t tokens,
                                           int64_t heads, int64_t* result) {
  return guarded([&] {
    expect_given(op, "op");
    expect_given(result, "result");
    *result = op->kernels->workspace_bytes(size_from(sequences, tokens, heads));
  });
}

wkvc_status wkvc_saved_bytes(const wkvc_operator* op, int64_t batches, int64_t tokens, int64_t heads,
                             const wkvc_sequences* sequences, int64_t* result) {
  return guarded([&] {
    expect_given(op, "op");
    expect_given(result, "result");
    *result = op->kernels->saved_bytes(size_of_launch(batches, tokens, heads, sequences));
  });
}

int32_t wkvc_saved_count(const wkvc_operator* op) {
  return op == nullptr ? 0 : static_cast<int32_t>(op->kernels->saved().size());
}

wkvc_status wkvc_saved_at(const wkvc_operator* op, int32_t index, wkvc_saved_info* result) {
  return guarded([&] {
    expect_given(op, "op");
    expect_given(result, "result");
    const auto saved = op->kernels->saved();
    if (index < 0 || static_cast<std::size_t>(index) >= saved.size()) {
      user_error("there is no saved tensor {}: there are {}", index, saved.size());
    }
    const SavedRow row = saved_row(saved[static_cast<std::size_t>(index)], op->kernels->manifest());
    *result = {row.tokens, row.bytes};
  });
}

wkvc_status wkvc_launch(const wkvc_operator* op, wkvc_pass pass, int64_t batches, int64_t tokens, int64_t heads,
                        const wkvc_tensor* tensors, int32_t count, void* workspace, void* stream, wkvc_checks checks) {
  return guarded([&] { launch(op, pass, {batches, tokens, heads}, tensors, count, workspace, stream, checks); });
}

wkvc_status wkvc_launch_sequences(const wkvc_operator* op, wkvc_pass pass, const wkvc_sequences* sequences,
                                  int64_t tokens, int64_t heads, const wkvc_tensor* tensors, int32_t count,
                                  void* workspace, void* stream, wkvc_checks checks) {
  return guarded(
      [&] { launch(op, pass, size_from(sequences, tokens, heads), tensors, count, workspace, stream, checks); });
}

wkvc_status wkvc_launch_parts(const wkvc_operator* op, wkvc_pass pass, int64_t batches, int64_t tokens, int64_t heads,
                              const wkvc_sequences* sequences, const wkvc_tensor* tensors, int32_t count, void* saved,
                              void* scratch, void* stream, wkvc_checks checks) {
  return guarded([&] {
    launch(op, pass, size_of_launch(batches, tokens, heads, sequences), tensors, count,
           Operator::Workspace{saved, scratch}, stream, checks);
  });
}
