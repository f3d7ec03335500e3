// Options of a recurrence: what they change, what they refuse.
#include "dsl/options.h"

#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

Config with(std::vector<std::string> settings) {
  Config config;
  config.set = std::move(settings);
  return config;
}

std::string message_of(const Definition& definition, std::vector<std::string> settings) {
  try {
    rec_text(definition, with(std::move(settings)));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string renamed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

Definition with_all_kinds() {
  return recurrence("kinds", [](Recurrence& op) {
    const std::string word = op.choice("word", {"one", "two"}, "a word");
    const bool flag = op.flag("flag", "a flag");
    const double number = op.number("number", 0.5, {.least = 0, .most = 2}, "a number");
    Dim K = op.key_dim(16), V = op.value_dim(16);
    auto k = op.input("k", K, bf16), v = op.input("v", V, bf16);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    op.update(S, static_cast<float>(number) * S + outer(v, k));
    auto read = word == "one" ? dot(S, k) : dot(S + outer(v, k), k);
    op.output("o", flag ? -read : read, bf16);
  });
}

TEST(Options, ChangeTheText) {
  const std::string text = rec_text(with_all_kinds());
  EXPECT_EQ(text, rec_text(with_all_kinds(), with({"word=one", "flag=false", "number=0.5"})));
  for (const char* setting : {"word=two", "flag=true", "number=1.5"})
    EXPECT_NE(text, rec_text(with_all_kinds(), with({setting}))) << setting;
}

TEST(Options, OfAPresetAreItsOwnUnlessSet) {
  EXPECT_EQ(renamed(rec_text(rwkv7(), with({"decay=log"})), "@rwkv7", "@rwkv7_logw"), rec_text(rwkv7_logw()));
  EXPECT_EQ(renamed(rec_text(rwkv7()), "@rwkv7", "@rwkv7_logw"), rec_text(rwkv7_logw(), with({"decay=raw"})));
}

TEST(Options, AreListedInTheirOrder) {
  const std::vector<OptionInfo> options = options_of(with_all_kinds());
  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(options[0].name + ": " + options[0].values + "; " + options[0].value, "word: one or two; one");
  EXPECT_EQ(options[1].name + ": " + options[1].values + "; " + options[1].value, "flag: false or true; false");
  EXPECT_EQ(options[2].name + ": " + options[2].values + "; " + options[2].value, "number: a number from 0 to 2; 0.5");
  EXPECT_EQ(options_of(rwkv7_logw()).front().value, "log");
}

TEST(Options, RefuseWhatTheyDoNotTake) {
  EXPECT_EQ(message_of(with_all_kinds(), {"word=three"}), "kinds: the option word is 'three'; expected one or two");
  EXPECT_EQ(message_of(with_all_kinds(), {"flag=1"}), "kinds: the option flag is '1'; expected false or true");
  for (const char* number : {"3", "-1", "nan", "inf", "x", "1x", "0x1", "1e999"})
    EXPECT_EQ(message_of(with_all_kinds(), {std::string("number=") + number}),
              std::string("kinds: the option number is '") + number + "'; expected a number from 0 to 2");
  EXPECT_EQ(message_of(with_all_kinds(), {"numbre=1"}),
            "kinds: there is no option 'numbre'; known are word, flag, number; did you mean 'number'?");
  EXPECT_EQ(message_of(rwkv7(), {"lower_bound=-5"}),
            "rwkv7: the option lower_bound goes with decay=log: set decay=log, too, or leave lower_bound out");
}

TEST(Options, OfARecurrenceWithoutAny) {
  const Definition plain = recurrence("plain", [](Recurrence& op) {
    Dim K = op.key_dim(16), V = op.value_dim(16);
    auto k = op.input("k", K, bf16), v = op.input("v", V, bf16);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    op.update(S, S + outer(v, k));
    op.output("o", dot(S, k), bf16);
  });
  EXPECT_EQ(message_of(plain, {"scale=2"}), "plain: there is no option 'scale': the recurrence declares none");
  EXPECT_TRUE(options_of(plain).empty());
}

TEST(Options, AreDeclaredOnce) {
  const Definition twice = recurrence("twice", [](Recurrence& op) {
    op.flag("flag", "a flag");
    op.flag("flag", "the same");
  });
  EXPECT_NE(message_of(twice, {}).find("the option 'flag' is declared twice"), std::string::npos);
  const Definition taken = recurrence("taken", [](Recurrence& op) {
    op.flag("k", "a flag");
    op.input("k", op.key_dim(16), bf16);
  });
  EXPECT_NE(message_of(taken, {}).find("the option 'k' has the name of a value"), std::string::npos);
  const Definition odd = recurrence("odd", [](Recurrence& op) { op.flag("no name", "a flag"); });
  EXPECT_NE(message_of(odd, {}).find("options_test.cpp"), std::string::npos);
}

}  // namespace
}  // namespace wkvc
