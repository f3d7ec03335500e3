// What an edited text says of its kernels' sizes: another number than the kernels have is the user's mistake, before
// anything runs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codegen/compiler.h"
#include "dsl/registry.h"
#include "runtime/error.h"
#include "runtime/manifest/manifest.h"
#include "runtime/program.h"
#include "tests/cli/command.h"
#include "tests/expect_error.h"

namespace wkvc::test {
namespace {

using nlohmann::json;

std::string kernels(const std::string& op, const Config& config) {
  return lower_to(source_from(rec_text(Registry::builtin().find(op), config)), Stage::cuda, config);
}

// Kernels of every schedule.
std::vector<std::string> texts() {
  return {kernels("rwkv7", {.pass = "both", .scales = "always"}),
          kernels("rwkv7", {.pass = "both", .scales = "guarded"}),
          kernels("rwkv7", {.key_dim = 32, .value_dim = 64, .io = "f32", .mma = "f32", .pass = "both"}),
          kernels("rwkv7", {.teams = 2, .backward_teams = 2, .pass = "both", .scales = "always"}),
          kernels("rwkv7", {.teams = 2, .rounds = 2, .cluster = 2, .scales = "always"}),
          kernels("rwkv7", {.teams = 2, .rounds = 2, .cluster = 2, .scales = "guarded"}),
          kernels("rwkv7", {.segments = 4, .backward_segments = 2, .pass = "both", .saved = "bf16"}),
          kernels("rwkv6", {.pass = "both"})};
}

// `text` with `change` made to the manifest that begins at `at`.
std::string with_manifest(const std::string& text, std::size_t at, const std::function<void(json&)>& change) {
  const std::size_t begin = text.find('{', at), end = text.find('\n', begin);
  json manifest = json::parse(text.substr(begin, end - begin));
  change(manifest);
  return text.substr(0, begin) + manifest.dump() + text.substr(end);
}

std::vector<std::size_t> manifests_in(const std::string& text) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; (at = text.find("// wkvc-manifest: ", at)) != std::string::npos; ++at) found.push_back(at);
  return found;
}

TEST(EditedManifest, IsTakenUnchanged) {
  for (const std::string& text : texts()) {
    EXPECT_NO_THROW(manifests_from(text)) << text.substr(0, 300);
    for (const std::size_t at : manifests_in(text))
      EXPECT_NO_THROW(manifests_from(with_manifest(text, at, [](json&) {})));
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Before anything is compiled, so that all targets and commands have one message.
TEST(EditedManifest, IsRefusedWhereTheTextHasNoSuchKernel) {
  const std::string text = kernels("rwkv7", {.scales = "always"});
  const std::string edited = replaced(text, R"("kernel":"rwkv7_forward")", R"("kernel":"rwkv7_forwards")");
  const auto message =
      "a manifest names the kernel \"rwkv7_forwards\", but the text has no WKVC_KERNEL(rwkv7_forwards, …)";
  for (const std::string& error : {user_error_of([&] { lower_to(source_from(edited), Stage::cuda, {}); }),
                                   user_error_of([&] { Program::load(edited, Target::host); }),
                                   user_error_of([&] { Program::load(edited, Target::cuda); })})
    expect_contains(error, message);
  EXPECT_NO_THROW(lower_to(source_from(replaced(text, "rwkv7_forward", "mine")), Stage::cuda, {}));
}

TEST(EditedManifest, IsRefusedForAnotherGpu) {
  const std::string text = replaced(kernels("rwkv7", {.scales = "always"}), "sm_90a", "sm_100a");
  expect_contains(user_error_of([&] { lower_to(source_from(text), Stage::cuda, {}); }),
                  "the kernel \"rwkv7_forward\" says that its arch is \"sm_100a\"; expected sm_90a");
}

// Workspaces of segments would be too small for more of them.
TEST(EditedManifest, IsRefusedWhereSegmentsHaveNoRoom) {
  int cut = 0;
  for (const std::string& text : texts()) {
    for (const std::size_t at : manifests_in(text)) {
      bool keeps = false;
      const std::string edited = with_manifest(text, at, [&](json& manifest) {
        for (const json& tensor : manifest["tensors"]) keeps |= tensor["name"] == "segment_states";
        manifest["segments"] = 16;
      });
      if (!keeps) continue;
      EXPECT_THROW(manifests_from(edited), UserError) << edited.substr(at, 1000);
      ++cut;
    }
  }
  EXPECT_GE(cut, 3);  // a summary, what combines it, and its program
}

// Rows of maps and of states would go beyond less memory.
TEST(EditedManifest, IsRefusedWhereCombiningHasOtherMemory) {
  int combining = 0;
  for (const std::string& text : texts()) {
    for (const std::size_t at : manifests_in(text)) {
      const auto edit = [&](int bytes) {
        return with_manifest(text, at, [&](json& manifest) {
          if (bytes != 0) manifest["shared_bytes"] = manifest["shared_bytes"].get<int>() + bytes;
        });
      };
      const bool combines = text.substr(at, text.find('\n', at) - at).find("_combine\"") != std::string::npos;
      if (!combines || text.find("combining_bytes<", at) == std::string::npos) continue;
      EXPECT_NO_THROW(manifests_from(edit(0)));
      EXPECT_THROW(manifests_from(edit(-16)), UserError);
      ++combining;
    }
  }
  EXPECT_GE(combining, 1);
}

// Every size of every kernel, larger and smaller.
TEST(EditedManifest, IsRefusedWhereASizeIsNotTheKernels) {
  for (const std::string& text : texts()) {
    for (const std::size_t at : manifests_in(text)) {
      const std::string name = text.substr(text.find("\"kernel\"", at), 40);
      // Kernels that only add up what others have left name no tensor and use no shared memory.
      if (name.find("_combine\"") != std::string::npos || name.find("_du\"") != std::string::npos) continue;
      for (const char* size : {"key_dim", "value_dim", "chunk", "warps", "shared_bytes", "cluster"}) {
        for (const int difference : {-1, 1}) {
          const std::string edited = with_manifest(text, at, [&](json& manifest) {
            if (!manifest.contains(size)) manifest[size] = 1;
            manifest[size] = std::string_view(size) == "cluster" ? (manifest[size] == 1 ? 2 : 1)
                             : difference > 0                    ? manifest[size].get<int>() * 2
                                                                 : manifest[size].get<int>() / 2;
          });
          EXPECT_THROW(manifests_from(edited), UserError) << name << ": " << size << ", " << difference;
        }
      }
      EXPECT_THROW(manifests_from(with_manifest(text, at, [](json& manifest) { manifest["tensors"].erase(0); })),
                   UserError)
          << name;
      const auto swapped = [](json& manifest) { std::swap(manifest["tensors"][0], manifest["tensors"][1]); };
      EXPECT_THROW(manifests_from(with_manifest(text, at, swapped)), UserError) << name;
    }
  }
}

// Also where the comment and the label have been edited alike.
TEST(EditedManifest, IsRefusedWhereTheKernelItselfSaysOtherwise) {
  const std::string text = kernels("rwkv7", {.pass = "both", .scales = "always"});
  const auto replaced = [](std::string in, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = in.find(from, at)) != std::string::npos; at += to.size())
      in.replace(at, from.size(), to);
    return in;
  };
  const auto refused = [](const std::string& edited, std::string_view part) {
    try {
      manifests_from(edited);
      ADD_FAILURE() << "taken: " << part;
    } catch (const UserError& error) {
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
    }
  };
  refused(replaced(replaced(text, "head 64x64", "head 32x64"), "\"key_dim\":64", "\"key_dim\":32"),
          "tiles of 16x64 bf16");
  refused(replaced(replaced(text, "head 64x64", "head 64x32"), "\"value_dim\":64", "\"value_dim\":32"), "\"v\" has 32");
  refused(replaced(replaced(text, "chunk 16", "chunk 64"), "\"chunk\":16", "\"chunk\":64"),
          "chunk 64, but the text says 16");
  refused(replaced(text, "\"saved_every\":4", "\"saved_every\":8"), "saved_every 8, but the text says 4");
  const std::string states = kernels("rwkv7", {.states_every = 32});
  refused(replaced(states, "\"states_every\":32", "\"states_every\":64"), "states_every 64, but the text says 32");
  refused(replaced(text, R"("name":"r","role":"input","dtype":"bf16")", R"("name":"r","role":"input","dtype":"f16")"),
          "\"r\" has 64 elements a row of f16");
  refused(replaced(text, R"("name":"o","role":"output","dtype":"bf16")", R"("name":"o","role":"output","dtype":"f16")"),
          "\"o\" is f16, but the text writes bf16");
  const std::string shared = text.substr(text.find("\"shared_bytes\":") + 15, 5);
  refused(replaced(text, shared, "10000"), "shared_bytes 10000, but the text uses shared memory at byte");
  const std::string parts = kernels("rwkv7", {.parts = 2});
  refused(replaced(parts, "\"parts\":2", "\"parts\":4"), "parts 4, but the text has the line \"#define WKVC_PARTS 2\"");
  refused(replaced(parts, "\"parts\":2,", ""), "parts 1, but the text has the line \"#define WKVC_PARTS 2\"");
  for (const char* line : {"", "#define WKVC_PART 2", "#define WKVC_PARTS 4", "#define WKVC_PARTS 99999999999999999999",
                           "#define WKVC_PARTS (2+2)", "#define WKVC_PARTS", "// #define WKVC_PARTS 2",
                           "#define WKVC_PARTS 2\n#undef WKVC_PARTS"})
    refused(replaced(parts, "#define WKVC_PARTS 2", line), "parts 2, but the text ");
}

class EditedText : public CommandTest {};

TEST_F(EditedText, IsOneMessage) {
  const std::string text = kernels("rwkv7", {.scales = "always"});
  for (const auto& [from, to] : {std::pair{"\"key_dim\":64", "\"key_dim\":16"},
                                 {"\"value_dim\":64", "\"value_dim\":16"},
                                 {"\"chunk\":16", "\"chunk\":4096"},
                                 {"\"shared_bytes\":", "\"shared_bytes\":1"},
                                 {"\"warps\":4", "\"warps\":2"},
                                 {"\"name\":\"w\"", "\"name\":\"x\""}}) {
    expect_mistake({"check", "--source", file("edited.cu", edited(text, from, to)), "--device", "cpu"},
                   "the manifest of the kernel \"rwkv7_forward\"");
  }
}

}  // namespace
}  // namespace wkvc::test
