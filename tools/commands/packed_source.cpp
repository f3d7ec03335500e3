#include "tools/commands/packed_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "runtime/manifest/joint_manifest.h"

namespace wkvc {
namespace {

// A tensor's name as a member's: only a gradient's, "d" and a name, can be a keyword.
std::string member(const std::string& name) {
  constexpr std::array<std::string_view, 6> keywords{"decltype", "default", "delete", "do", "double", "dynamic_cast"};
  return std::ranges::find(keywords, name) == keywords.end() ? name : name + "_";
}

std::string field(const TensorSpec& spec) {
  return fmt::format("    wkvc::{}<wkvc::DType::{}, {}> {}{{}};  // [{}]{}\n",
                     is_result(spec.role) ? "Result" : "Input", name_of(spec.dtype), spec.dims.size(),
                     member(spec.name), fmt::join(spec.dims, ", "), is_optional(spec.role) ? ", may be left out" : "");
}

// What a caller gives the kernels of one pass.
struct PassTensors {
  std::string function;             // "forward"
  std::string type;                 // "Forward"
  std::vector<TensorSpec> tensors;  // as Operator::tensors has them
};

std::vector<PassTensors> passes_of(std::string_view text) {
  std::vector<PassTensors> passes;
  for (const auto& [direction, function, type] :
       {std::tuple(Direction::forward, "forward", "Forward"), {Direction::backward, "backward", "Backward"}}) {
    std::vector<Manifest> manifests = manifests_from(text);
    std::erase_if(manifests, [&](const Manifest& manifest) { return manifest.pass != direction; });
    if (manifests.empty()) continue;
    PassTensors pass{function, type, joint_manifest(manifests).tensors};
    std::erase_if(pass.tensors, [](const TensorSpec& spec) { return is_internal(spec.role); });
    passes.push_back(std::move(pass));
  }
  return passes;
}

std::string class_text(const CompiledProgram& program) {
  const Manifest manifest = manifests_from(program.text).front();
  std::string text =
      fmt::format("// {}: {}, {}.\nclass {} {{\n public:\n", manifest.op, manifest.config, manifest.arch, program.name);
  for (const PassTensors& pass : passes_of(program.text)) {
    text += fmt::format("  struct {} {{\n", pass.type);
    for (const TensorSpec& spec : pass.tensors) text += field(spec);
    text += "  };\n\n";
  }
  text += fmt::format(
      "  // Throws wkvc::UserError: no GPU that the kernels are for.\n"
      "  explicit {}(wkvc::Target target = wkvc::Target::cuda);\n\n"
      "  // Bytes of memory, aligned to 256, that a launch needs beside its tensors.\n"
      "  std::int64_t workspace_bytes(wkvc::LaunchSize size) const {{ return op_.workspace_bytes(size); }}\n\n"
      "  // See wkvc::Operator::launch.\n",
      program.name);
  for (const PassTensors& pass : passes_of(program.text)) {
    text += fmt::format(
        "  void {}(const {}& tensors, wkvc::LaunchSize size, void* workspace = nullptr,\n"
        "      wkvc::StreamHandle stream = nullptr) const;\n",
        pass.function, pass.type);
  }
  return text + "\n private:\n  wkvc::Operator op_;\n};\n\n";
}

std::string array_text(const std::string& name, std::span<const char> bytes) {
  std::string text = fmt::format("constexpr unsigned char {}[] = {{", name);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text += fmt::format("{}{},", i % 32 == 0 ? "\n" : "", static_cast<unsigned>(static_cast<unsigned char>(bytes[i])));
  }
  return text + "};\n";
}

std::string definitions(const CompiledProgram& program) {
  std::string text = fmt::format(
      "{0}::{0}(wkvc::Target target)\n"
      "    : op_(wkvc::Program::load({{text_of({0}_text), chars_of({0}_aligned), text_of({0}_log), "
      "chars_of({0}_general)}},\n"
      "                              target)) {{}}\n\n",
      program.name);
  for (const PassTensors& pass : passes_of(program.text)) {
    std::string names;
    for (const TensorSpec& spec : pass.tensors) names += fmt::format("\n      tensors.{},", member(spec.name));
    text += fmt::format(
        "void {}::{}(const {}& tensors, wkvc::LaunchSize size, void* workspace, wkvc::StreamHandle stream) const {{\n"
        "  const wkvc::Tensor given[] = {{{}}};\n"
        "  op_.launch(wkvc::Direction::{}, given, size, workspace, stream);\n}}\n\n",
        program.name, pass.function, pass.type, names, pass.function);
  }
  return text;
}

}  // namespace

std::string packed_header(const std::string& name, const std::vector<CompiledProgram>& programs) {
  std::string text = fmt::format(
      "// Written by wkvc pack. Kernels compiled for the GPU, one class an operator; link wkvc::runtime.\n"
      "#pragma once\n\n#include \"runtime/operator.h\"\n#include \"runtime/tensor/typed.h\"\n\nnamespace {} {{\n\n",
      name);
  for (const CompiledProgram& program : programs) text += class_text(program);
  return text + fmt::format("}}  // namespace {}\n", name);
}

std::string packed_source(const std::string& name, const std::vector<CompiledProgram>& programs) {
  std::string text = fmt::format(
      "// Written by wkvc pack. The kernels' text is in the .cu files beside this one.\n#include \"{0}.h\"\n\n"
      "namespace {0} {{\nnamespace {{\n\n"
      "std::span<const char> chars_of(std::span<const unsigned char> bytes) {{\n"
      "  return {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}};\n}}\n\n"
      "std::string_view text_of(std::span<const unsigned char> bytes) {{\n"
      "  return {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}};\n}}\n\n",
      name);
  for (const CompiledProgram& program : programs) {
    text += array_text(program.name + "_text", program.text);
    text += array_text(program.name + "_aligned", program.aligned.cubin);
    text += array_text(program.name + "_log", program.aligned.log);
    text += array_text(program.name + "_general", program.general);
  }
  text += "\n}  // namespace\n\n";
  for (const CompiledProgram& program : programs) text += definitions(program);
  return text + fmt::format("}}  // namespace {}\n", name);
}

}  // namespace wkvc
