// Kernels of the warp dialect as text, for tests.
#pragma once

#include <string>

namespace wkvc::test {

inline std::string tensors() {
  return R"(["input k bf16 B,T,H,K", "input gate f32 B,T,H", "parameter u bf16 H,K", "output o bf16 B,T,H,V", )"
         R"("output number f32 B,T,H", "workspace du_parts f32 B,H,K", "saved_states saved_states bf16 B,H,N,V,K", )"
         R"("kept M f32 B,T,H,16", "workspace chunk_states bf16 B,H,G,V,K", )"
         R"("initial_state initial_state f32 B,H,V,K", "final_state final_state f32 B,H,V,K"])";
}

// The text with one more part in its kernel's schedule, such as "prepare(teams = 2)". Parts of the grid come first.
inline std::string scheduled(std::string text, const std::string& part) {
  const std::string grid = "grid(", end = ")> chunk";
  if (part.starts_with(grid)) return text.replace(text.find(grid), grid.size(), part.substr(0, part.size() - 1) + ", ");
  return text.insert(text.find(end) + 1, ", " + part);
}

inline std::string header(
    const std::string& numbers = "warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 10256",
    const std::string& rest = "compute \"f16\" arch \"sm_90a\"") {
  return "warp.kernel \"example_forward\" for \"example\" " + numbers + " " + rest + " tensors " + tensors() + " {\n";
}

inline std::string buffers() {
  return R"(  %k_ring = warp.ring "k" offset 0 stages 2 by 1 : !warp.tile<16x32xbf16, shared>
  %k_max = warp.floats offset 2560 live 0 to 3 : !warp.tile<1xf32, plain>
  %S_max = warp.floats offset 10240 live 0 to 3 : !warp.tile<2xf32, plain>
  %scratch = warp.floats offset 4256 live 2 to 3 : !warp.tile<192xf32, plain>
  %row = warp.floats offset 2576 live 0 to 1 : !warp.tile<32xf32, plain>
  %x = warp.buffer offset 2704 live 0 to 1 : !warp.tile<16x32xf32, shared>
  %h = warp.buffer offset 5264 scale 6544 live 0 to 1 : !warp.tile<16x32xf16, shared>
  %k_early = warp.buffer offset 6560 live 0 to 1 : !warp.tile<16x32xbf16, matrices>
  %staged = warp.staged offset 8192 live 0 to 3 : !warp.tile<32x32xbf16, shared>
)";
}

inline std::string loop() {
  return R"(  warp.role state first 0 warps 2 {
  %initial = warp.load_state "initial_state" : !warp.tile<16x32xf32, fragments>
  %final = warp.sweep over chunks carry %initial : !warp.tile<16x32xf32, fragments> {
  ^bb0(%S: !warp.tile<16x32xf32, fragments>):
    %k = warp.current %k_ring : !warp.tile<16x32xbf16, shared>
    %t = warp.load %x : !warp.tile<16x32xf32, shared> -> !warp.tile<16x32xf32, fragments>
    %square = warp.zeros : !warp.tile<16x16xf32, fragments>
)";
}

inline std::string ending() {
  return R"(    warp.yield %S : !warp.tile<16x32xf32, fragments>
  }
  warp.store_state "final_state" %final : !warp.tile<16x32xf32, fragments>
  }
}
)";
}

// A kernel of two teams with these lines at the top of its loop over rounds.
inline std::string with_teams(const std::string& lines, const std::string& teams = "2",
                              const std::string& slots = "  %slots = warp.channel depth 1 offset 0 bytes 10256\n") {
  const std::string text =
      "warp.kernel \"example_forward\" for \"example\" warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head "
      "32 x "
      "32 shared 20512 compute \"f16\" arch \"sm_90a\" tensors " +
      tensors() + " {\n" + slots +
      R"(  %k_ring = warp.ring "k" in %slots offset 0 stages 1 by 0 : !warp.tile<16x32xbf16, shared>
  %k_max = warp.floats in %slots offset 2560 live 0 to 3 : !warp.tile<1xf32, plain>
  %h = warp.buffer in %slots offset 2704 live 0 to 1 : !warp.tile<32x32xf16, shared>
  warp.role state first 0 warps 2 {
  %initial = warp.load_state "initial_state" : !warp.tile<16x32xf32, fragments>
  %final = warp.sweep over rounds carry %initial : !warp.tile<16x32xf32, fragments> {
  ^bb0(%S: !warp.tile<16x32xf32, fragments>):
)" + lines +
      R"(    %round = warp.sweep over round carry %S : !warp.tile<16x32xf32, fragments> {
    ^bb0(%S_chunk: !warp.tile<16x32xf32, fragments>):
      warp.yield %S_chunk : !warp.tile<16x32xf32, fragments>
    }
    warp.yield %round : !warp.tile<16x32xf32, fragments>
  }
  warp.store_state "final_state" %final : !warp.tile<16x32xf32, fragments>
  }
}
)";
  return scheduled(text, "prepare(teams = " + teams + ")");
}

// A backward kernel of two teams whose states go through a round at once, with these lines in the loop of the saved one
// and after it.
inline std::string two_states(const std::string& lines = "", const std::string& between = "",
                              const std::string& later = "") {
  std::string text = with_teams(R"(    %saved = warp.sweep over round carry %S : !warp.tile<16x32xf32, fragments> {
    ^bb0(%S_before: !warp.tile<16x32xf32, fragments>):
)" + lines + R"(      warp.yield %S_before : !warp.tile<16x32xf32, fragments>
    }
)" + between);
  const auto add = [&](const std::string& before, const std::string& more) {
    text.insert(text.find(before) + before.size(), more);
  };
  add("over rounds", " backward");
  add("%round = warp.sweep over round", " backward beside");
  add("]", " attributes {backward}");
  add("^bb0(%S_chunk: !warp.tile<16x32xf32, fragments>):\n", later);
  return text;
}

// The same where one of two rounds has a saved state, with these lines in what goes through it again.
inline std::string again(const std::string& lines) {
  std::string text = two_states();
  const std::string loop = "    %saved = warp.sweep over";
  text.insert(text.find(loop), R"(    %kept = warp.load_saved "saved_states" : !warp.tile<16x32xbf16, fragments>
    %again = warp.again %kept : !warp.tile<16x32xbf16, fragments> {
      warp.team {
        warp.wait_copies 0
        warp.copy %k_ring ahead 0 next : !warp.tile<16x32xbf16, shared>
        warp.commit_copies
      }
      warp.barrier
      %wide = warp.call "widen"(%kept) : (!warp.tile<16x32xbf16, fragments>) -> !warp.tile<16x32xf32, fragments>
)" + lines + "    }\n");
  return scheduled(text, "checkpoint(every = 4)");
}
inline std::string loop_again() {
  return R"(      %first = warp.sweep over round carry %wide : !warp.tile<16x32xf32, fragments> {
      ^bb0(%S_first: !warp.tile<16x32xf32, fragments>):
        warp.yield %S_first : !warp.tile<16x32xf32, fragments>
      }
)";
}
inline std::string yield_again() {
  return R"(      %rounded = warp.round %first : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xbf16, fragments>
      warp.yield %rounded : !warp.tile<16x32xbf16, fragments>
)";
}

// The role that prepares rounds ahead, with these lines in its sweep over them.
inline std::string preparing(const std::string& lines) {
  return "  warp.role prepare first 2 warps 2 {\n    warp.sweep over rounds {\n" + lines + "    }\n  }\n";
}

// What teams do in a kernel of two rounds, with these lines.
inline std::string prepared(const std::string& lines = "") {
  return preparing("    warp.team {\n      warp.acquire %slots\n" + lines + "      warp.put %slots\n    }\n");
}

// A kernel of two rounds for two teams of one warp behind two, with these lines before the loop over rounds.
inline std::string with_rounds(
    const std::string& lines, const std::string& slots = "depth 2 offset 2048 bytes 8192",
    const std::string& numbers =
        "warps 4 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 36928") {
  const std::string text = "warp.kernel \"example_forward\" for \"example\" " + numbers +
                           " compute \"f16\" arch \"sm_90a\" tensors " + tensors() + " {\n  %slots = warp.channel " +
                           slots + R"(
  %k_ring = warp.ring "k" offset 0 stages 1 by 0 early : !warp.tile<16x32xbf16, shared>
  %v_ring = warp.ring "k" in %slots offset 2048 stages 1 by 0 : !warp.tile<16x32xbf16, shared>
  %k_max = warp.floats in %slots offset 4096 live 0 to 3 : !warp.tile<1xf32, plain>
  %h = warp.buffer in %slots offset 4112 live 0 to 1 : !warp.tile<32x32xf16, shared>
)" + lines +
                           R"(  warp.role state first 0 warps 2 {
  %initial = warp.load_state "initial_state" : !warp.tile<16x32xf32, fragments>
  %final = warp.sweep over rounds carry %initial : !warp.tile<16x32xf32, fragments> {
  ^bb0(%S: !warp.tile<16x32xf32, fragments>):
    %round = warp.sweep over round carry %S : !warp.tile<16x32xf32, fragments> {
    ^bb0(%S_chunk: !warp.tile<16x32xf32, fragments>):
      warp.get %slots
      warp.release %slots
      warp.yield %S_chunk : !warp.tile<16x32xf32, fragments>
    }
    warp.yield %round : !warp.tile<16x32xf32, fragments>
  }
  warp.store_state "final_state" %final : !warp.tile<16x32xf32, fragments>
  }
}
)";
  return scheduled(text, "prepare(teams = 2, warps = 1)");
}

// A kernel with these lines in its loop, where k, t, square and S are defined. They start at line 18.
inline std::string with(const std::string& lines) { return header() + buffers() + loop() + lines + ending(); }

// The same in a loop over groups, before the loop over one of them.
inline std::string with_groups(const std::string& lines) {
  return header() + buffers() + R"(  warp.role state first 0 warps 2 {
  %initial = warp.load_state "initial_state" : !warp.tile<16x32xf32, fragments>
  %final = warp.sweep over groups backward ahead carry %initial : !warp.tile<16x32xf32, fragments> {
  ^bb0(%S_group: !warp.tile<16x32xf32, fragments>):
)" + lines +
         R"(    %last = warp.sweep over group backward carry %S_group : !warp.tile<16x32xf32, fragments> {
    ^bb0(%S: !warp.tile<16x32xf32, fragments>):
      %k = warp.current %k_ring : !warp.tile<16x32xbf16, shared>
      warp.wait_copies 0
      warp.copy_saved "chunk_states", %staged ahead 1 first_from "saved_states" : !warp.tile<32x32xbf16, shared>
      warp.commit_copies
      warp.keep_state "chunk_states" %S as bf16 but_last : !warp.tile<16x32xf32, fragments>
      warp.yield %S : !warp.tile<16x32xf32, fragments>
    }
    warp.yield %last : !warp.tile<16x32xf32, fragments>
  }
  warp.store_state "final_state" %final : !warp.tile<16x32xf32, fragments>
  }
}
)";
}

// A kernel with these lines among its buffers. They start at line 10.
inline std::string with_buffers(const std::string& lines) { return header() + buffers() + lines + loop() + ending(); }

// A kernel that summarizes segments.
inline std::string summary(
    const std::string& numbers = "warps 3 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 0",
    const std::string& map = "diagonal", const std::string& segments = "4") {
  const std::string text =
      "warp.kernel \"example_forward_summary\" for \"example\" " + numbers +
      R"( compute "f16" arch "sm_90a" tensors ["workspace segment_states f32 B,H,4,48,K"] attributes {summary = ")" +
      map +
      R"("} {
  warp.role state first 0 warps 3 {
  %initial = warp.start_summary : !warp.tile<16x32xf32, fragments>
  %final = warp.sweep over chunks carry %initial : !warp.tile<16x32xf32, fragments> {
  ^bb0(%S: !warp.tile<16x32xf32, fragments>):
    %offset = warp.call "offset"(%S) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>
    warp.yield %offset : !warp.tile<16x32xf32, fragments>
  }
  warp.store_state "segment_states" %final : !warp.tile<16x32xf32, fragments>
  }
}
)";
  return scheduled(text, "grid(segments = " + segments + ")");
}

}  // namespace wkvc::test
