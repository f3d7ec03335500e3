#include "tests/mutants/edits.h"

#include <map>
#include <regex>

namespace wkvc::test {

namespace {

Rule deleted(const std::string& call) { return {call + " deleted", R"(\n *)" + call + R"(\([^\n]*\);(?=\n))", ""}; }

std::string elsewhere(const std::string& change) {
  return "$1[&] { Block other = block; " + change + "; return other; }()$2";
}

}  // namespace

const std::vector<Rule> kEdits = {
    {"call dropped", R"(\n +(?!maximum|copied|output)\w[\w.]*(<[^()\n]*>)?\([^\n]*\);(?=\n))", ""},
    {"state not updated", R"(\n +\w+ = \w+;)", ""},
    {"state of zeros", R"((auto \w+ = \w+_initial);)", "$1 * 0.f;"},
    {"copies dropped", R"(\n +if \([^\n]*\) (copy_\w+|copies\w*\.copy)\([^\n]*\);)", ""},
    {"long call dropped", R"(\n +[\w.]+(<\d>)?\([^\n;]*,(\n {6,}[^\n]*)+\);)", ""},
    {"argument dropped", R"(\n {6,}(maximum|copied|output\w*<\w+>)\([^\n]*,(?=\n))", ""},
    {"output of zeros", R"((output\w*<\w+>\(\w+, \w+, )([^\n]*)(\)(,|\);)\n))", "$1($2) * 0.f$3"},
    {"final state of zeros", R"(store_state\((\w+),)", "store_state($1 * 0.f,"},
    {"another head", R"((_global, )block([,)]))", elsewhere("other.head = (block.head + 1) % args.heads")},
    {"another batch", R"((_global, )block([,)]))",
     elsewhere("other.batch = other.token_batch = (block.batch + 1) % args.batches")},
    {"first warp's rows", R"(\brow0\b(?! =))", "0"},
    {"first columns", R"(\bcolumn(_\d+)?\b(?=\)|,|;))", "0"},
    {"no such warp", R"(block\.warp == \d)", "block.warp == 99"},
    {"last chunk dropped", R"(= valid_rows<16>\(tokens_of\(args, block\), c\))",
     "= c + 1 < chunk_count<16>(tokens_of(args, block)) ? 16 : 0"},
    {"last chunk full", R"(= valid_rows<16>\(tokens_of\(args, block\), c\))", "= 16"},
    {"chunks rounded down", R"(chunk_count<16>\(tokens_of\(args, block\)\))",
     "static_cast<int>(tokens_of(args, block) / 16)"},
    {"first chunk dropped", "c = 0;", "c = 1;"},
    {"chunk 0 dropped", "c >= 0;", "c > 0;"},
    {"last chunk not visited", "c = chunks - 1;", "c = chunks - 2;"},
    {"stale copied state", R"(\(c - 1\) \+ row0)", "c + row0"},
    {"read past the tail", R"(\.copy\(args, block(, (c \+ \d|chunks - 1)))",
     ".copy(args, [&] { auto other = block; other.tokens += 16; return other; }()$1"},
    {"inputs of another head", R"((take<\d>\(args, )block(,))",
     elsewhere("other.head = (block.head + 1) % args.heads")},
    {"inputs of another batch", R"((take<\d>\(args, )block(,))",
     elsewhere("other.batch = other.token_batch = (block.batch + 1) % args.batches")},
    {"copied by no warp", R"(copied\(\d)", "copied(99"},
    {"another tensor's maximum", R"((copied\(\d, \w+, \w+), \w+\))", "$1)"},
    {"next chunk's place", R"(args, c, valid)", "args, c + 1, valid"},
    {"next chunk's slot", R"(_ring\[c\])", "_ring[c + 1]"},
    {"tail kept", R"(keep_rows\((.*), valid\))", "$1"},
    {"made inclusive", R"(\btril_strict\()", "tril("},
    {"made strict", R"(\btril\()", "tril_strict("},
    {"another level", "level_pairs<8>", "level_pairs<4>"},
    {"another middle", "last_of_other_half<8>", "last_of_other_half<4>"},
    {"gradient of another middle", "sum_of_other_half<8>", "sum_of_other_half<4>"},
    {"halves of another level", "select_halves<8>", "select_halves<4>"},
    {"the other halves", "upper_rows<", "lower_rows<"},
    {"last row", "row<15>", "row<14>"},
    {"middle row", "row<7>", "row<6>"},
    {"middle row in one place", R"(\bL_middle\b(?! =))", "row<6>(L)"},
    {"decay of its own token", R"(\bL_before\b(?! =| \+ log_w_valid))", "(L_before + log_w_valid)"},
    {"decay upside down", R"((exp2?)\((\w+) - (\w+)\))", "$1($3 - $2)"},
    {"decay dropped", R"( \* e_\w+;)", ";"},
    {"term dropped", R"( [+-] (d\w+|[A-Z]+_level\d+|sum_rows\(\w+\))(?=[ ;),]))", ""},
    {"factor left out", R"((auto \w+ = \w+) \* \w+;)", "$1;"},
    {"factor dropped", R"( \* exp2?\(.*\);)", ";"},
    {"tile's scale 1", R"(= scale_for\(.*\);)", "= 1.f;"},
    {"inverse not transposed", R"(\btrans\(((?:scaled\()?\w+_lower_f16x2_shared))", "($1"},
    {"measured scale 1", R"((round_scaled<(?:lower_)?f16(?:x2)?>\(\w+( \+ \w+\([^)]*\))?)\))", "$1, 1.f)"},
    {"writer's scale 1", R"(\w+_scale\)\.data)", "1.f).data"},
    {"reader's scale 1", R"((\bscaled\(\w+(\.cols<16>\(\w+\))?), \w+\))", "$1, 1.f)"},
};

const std::vector<Rule> kDeletedSync = {
    deleted(R"(block\.barrier)"),
    deleted(R"(team\.barrier)"),
    {"guard's barrier deleted", R"(\n *if \(guard\.refuses_so_far<\d+>\(\)\) return [^\n]*;)", ""},
    deleted("begin_slots<Slots>"),
    deleted(R"(team\.claim)"),
    deleted(R"(team\.publish)"),
    deleted(R"(slot\.await)"),
    deleted(R"(slot\.release)"),
    deleted(R"(wait_copies<\d+>)"),
    deleted("commit_copies"),
    deleted(R"(block\.cluster_barrier)"),
    deleted(R"(block\.lower_flag)"),
};

namespace {

// The line of `text` that position `at` is in, without what is left of its first word; newlines belong to the next.
std::string line_at(const std::string& text, std::size_t at) {
  const std::size_t last = text.find('\n', at + 1);
  const std::size_t first = text.find_first_not_of(" \n", text.rfind('\n', at));
  return text.substr(first, last - first);
}

// An equation above a contraction.
bool is_in_comment(const std::string& text, std::size_t at) { return line_at(text, at).starts_with("//"); }

// A call is left out as a statement alone, not as what a statement ends with.
bool is_inside_statement(const Rule& rule, const std::string& text, std::size_t at) {
  return rule.name.ends_with("call dropped") && at > 0 && (text[at - 1] == '=' || text[at - 1] == '(');
}

}  // namespace

std::vector<Mutant> mutants_by(const Rule& rule, const std::string& text) {
  std::vector<Mutant> mutants;
  const std::regex pattern(rule.pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    const auto at = static_cast<std::size_t>(match->position());
    if (is_inside_statement(rule, text, at) || is_in_comment(text, at)) continue;
    const std::string after = text.substr(at + static_cast<std::size_t>(match->length()));
    mutants.push_back(
        {rule.name + ": " + line_at(text, at), text.substr(0, at) + match->format(rule.replacement) + after});
  }
  return mutants;
}

std::vector<Mutant> mutants_by(const std::vector<Rule>& rules, const std::string& text) {
  std::vector<Mutant> mutants;
  std::map<std::string, int> counts;
  for (const Rule& rule : rules)
    for (Mutant& mutant : mutants_by(rule, text)) {
      if (const int count = ++counts[mutant.name]; count > 1) mutant.name += " #" + std::to_string(count);
      mutants.push_back(std::move(mutant));
    }
  return mutants;
}

}  // namespace wkvc::test
