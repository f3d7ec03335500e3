#include "runtime/cuda/cubin.h"

#include <elf.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "runtime/error.h"

namespace wkvc {
namespace {

// The lines about one kernel: from its name to the next kernel's.
std::string_view report_of(std::string_view log, const std::string& kernel) {
  constexpr std::string_view opening = "Compiling entry function '";
  const std::size_t begin = log.find(fmt::format("{}{}'", opening, kernel));
  if (begin == std::string_view::npos) internal_error("NVRTC's log has no report of kernel {}:\n{}", kernel, log);
  const std::size_t end = log.find(opening, begin + opening.size());
  return log.substr(begin, end == std::string_view::npos ? end : end - begin);
}

// The number before `unit`, as in "880 bytes stack frame".
std::optional<std::int64_t> number_before(std::string_view report, std::string_view unit) {
  const std::size_t end = report.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t before = report.find_last_not_of("0123456789", end - 1);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(report.data() + before + 1, report.data() + end, value);
  if (error != std::errc{} || stop != report.data() + end) return std::nullopt;
  return value;
}

// What lies at `offset` of an ELF file.
template <class T>
T at(std::span<const char> file, std::uint64_t offset) {
  T value;
  if (offset > file.size() || file.size() - offset < sizeof(T))
    internal_error("a cubin of {} bytes is cut short", file.size());
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

}  // namespace

CubinUsage usage_from(std::string_view log, const std::string& kernel) {
  const std::string_view report = report_of(log, kernel);
  const auto needed = [&](std::string_view unit) {
    const std::optional<std::int64_t> value = number_before(report, unit);
    if (!value) internal_error("NVRTC's report of kernel {} lacks \"{}\":\n{}", kernel, unit, report);
    return *value;
  };
  CubinUsage usage;
  usage.registers = static_cast<int>(needed(" registers"));
  usage.stack_bytes = needed(" bytes stack frame");
  usage.spill_stores = needed(" bytes spill stores");
  usage.spill_loads = needed(" bytes spill loads");
  usage.static_shared = number_before(report, " bytes smem").value_or(0);  // left out when there is none
  return usage;
}

// A cubin is an ELF file with one section of code for each kernel.
std::int64_t code_bytes(std::span<const char> cubin, const std::string& kernel) {
  const auto header = at<Elf64_Ehdr>(cubin, 0);
  const auto section = [&](std::uint64_t index) {
    return at<Elf64_Shdr>(cubin, header.e_shoff + index * header.e_shentsize);
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  const std::string wanted = ".text." + kernel;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr found = section(i);
    const std::uint64_t name = names.sh_offset + found.sh_name;
    if (name + wanted.size() >= cubin.size()) continue;
    if (std::string_view(cubin.data() + name, wanted.size() + 1) ==
        std::string_view(wanted.c_str(), wanted.size() + 1)) {
      return static_cast<std::int64_t>(found.sh_size);
    }
  }
  internal_error("the cubin has no code of kernel {}", kernel);
}

}  // namespace wkvc
