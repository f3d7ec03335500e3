#include "runtime/base/machine_fault.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "runtime/base/reason.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr std::string_view ended = "free memory, raise the limit of memory or of processor time, or try again";

struct Phrase {
  std::string_view text;
  std::string_view remedy;
  bool at_end;  // of a line: errors about a text quote the text, too
};

// Phrases of gcc, clang, assemblers, linkers, NVRTC and ptxas.
constexpr std::array phrases{
    Phrase{"No space left on device", remedies::disk, true},
    Phrase{"Disk quota exceeded", remedies::disk, true},
    Phrase{"File too large", remedies::file_size, true},
    Phrase{"File size limit exceeded", remedies::file_size, true},
    Phrase{"File size limit exceeded signal terminated program", remedies::file_size, false},
    Phrase{"Too many open files", remedies::open_files, true},
    Phrase{"Resource temporarily unavailable", remedies::threads, true},
    Phrase{"Cannot allocate memory", remedies::memory, true},
    Phrase{"out of memory", remedies::memory, true},
    Phrase{"out of memory allocating", remedies::memory, false},
    Phrase{"memory exhausted", remedies::memory, true},
    Phrase{"Memory allocation failure", remedies::memory, true},
    Phrase{"std::bad_alloc", remedies::memory, true},
    Phrase{"Killed signal terminated program", ended, false},
    Phrase{"Terminated signal terminated program", ended, false},
    Phrase{"CPU time limit exceeded signal terminated program", ended, false},
    Phrase{"Bus error signal terminated program", remedies::disk, false},
    Phrase{"terminated with signal 9", ended, false},
    Phrase{"terminated with signal 15", ended, false},
    Phrase{"terminated with signal 24", ended, false},
    Phrase{"terminated with signal 25", remedies::file_size, false},
    Phrase{"terminated with signal 7", remedies::disk, false},
    Phrase{"unable to execute command: Killed", ended, false},
    Phrase{"unable to execute command: Terminated", ended, false},
    Phrase{"unable to execute command: Bus error", remedies::disk, false},
};

// An error about a place in the text, or a line of the text that is shown below one: "kernel.cpp:7:1: error: …" and
// "    7 | …".
bool is_about_text(std::string_view line) {
  const auto digit_before = [&](std::size_t at) { return at != line.npos && at > 0 && ::isdigit(line[at - 1]) != 0; };
  return digit_before(line.find(": error: ")) || digit_before(line.find(" | "));
}

std::string_view without_blanks_behind(std::string_view line) {
  const std::size_t last = line.find_last_not_of(" \r\t'.");
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

const Phrase* phrase_in(std::string_view line) {
  const auto says = [&](const Phrase& phrase) {
    return phrase.at_end ? line.ends_with(phrase.text) : line.find(phrase.text) != std::string_view::npos;
  };
  if (is_about_text(line)) return nullptr;
  const auto* const found = std::ranges::find_if(phrases, says);
  return found == phrases.end() ? nullptr : found;
}

// Signals by which others end a compiler. A compiler that ends itself, by SIGSEGV or SIGABRT, has met a fault.
std::string_view remedy_of_signal(int signal) {
  switch (signal) {
    case SIGKILL:
    case SIGTERM:
    case SIGHUP:
    case SIGINT:
    case SIGXCPU:
      return ended;
    case SIGXFSZ:
      return remedies::file_size;
    case SIGBUS:
      return remedies::disk;
    default:
      return {};
  }
}

}  // namespace

std::optional<MachineFault> machine_fault_in(std::string_view output) {
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    const std::string_view line = without_blanks_behind(output.substr(0, end));
    if (const Phrase* phrase = phrase_in(line)) return MachineFault{std::string(line), phrase->remedy};
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
  }
  return std::nullopt;
}

std::string refusal_text(const std::system_error& error) {
  return fmt::format("this machine refuses what wkvc needs: {}; {}", error.what(),
                     remedy(error.code().value(), "see that wkvc may use what the message names"));
}

void expect_no_machine_fault(const ProcessResult& result, const std::filesystem::path& directory) {
  std::optional<MachineFault> fault = machine_fault_in(result.output);
  if (const std::string_view remedy = remedy_of_signal(result.signal); !fault && !remedy.empty()) {
    fault = {fmt::format("signal {} ({}) ended the compiler", result.signal, ::sigdescr_np(result.signal)), remedy};
  }
  if (!fault) return;
  user_error("this machine kept the host compiler from its work in {}, a folder under TMPDIR: {}. Remedy: {}",
             directory.string(), fault->found, fault->remedy);
}

}  // namespace wkvc
