#include "tools/calls.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace belfry::tools {
namespace {

TEST(Calls, AreNamesWithArguments) {
  std::vector<Call> calls =
      parse_calls("image_folder(my photos/a, decode=false)|shuffle | batch( 32 ,remainder = keep)");
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].name, "image_folder");
  EXPECT_EQ(calls[0].text("directory"), "my photos/a");
  EXPECT_FALSE(calls[0].flag_or("decode", true));
  EXPECT_EQ(calls[1].name, "shuffle");
  EXPECT_EQ(calls[1].whole_or("seed", 7), 7);
  EXPECT_EQ(calls[2].whole_or("points", 1), 32);
  EXPECT_EQ(calls[2].text_or("remainder", "drop"), "keep");
  for (const Call& call : calls) call.check_all_used();
}

TEST(Calls, QuotesKeepWhatHasAMeaning) {
  std::vector<Call> calls = parse_calls("text('a,b (c) | d=e', \"it's\")");
  EXPECT_EQ(calls[0].text("path"), "a,b (c) | d=e");
  EXPECT_EQ(calls[0].text("other"), "it's");
}

TEST(Calls, SayWhereTheyAreNotUnderstood) {
  EXPECT_EQ(
      error_of([] { parse_calls("mnist(a"); }),
      "[flow] expected ',' or ')' at character 8 of 'mnist(a', got the end. Write source(arguments) | stage(...).");
  EXPECT_EQ(error_of([] { parse_calls("mnist | | batch"); }),
            "[flow] expected a name at character 9 of 'mnist | | batch', got '| batch'. Write source(arguments) | "
            "stage(...).");
  EXPECT_EQ(
      error_of([] { parse_calls("mnist) "); }),
      "[flow] expected '|' or the end at character 6 of 'mnist) ', got ') '. Write source(arguments) | stage(...).");
  EXPECT_EQ(error_of([] { parse_calls("a(x=1,x=2)"); }),
            "[flow] expected each argument once at character 10 of 'a(x=1,x=2)', got ')'. Write source(arguments) | "
            "stage(...).");
  EXPECT_EQ(error_of([] { parse_calls("a('x)"); }),
            "[flow] expected the closing quote at character 4 of 'a('x)', got 'x)'. Write source(arguments) | "
            "stage(...).");
}

TEST(Calls, AnArgumentMayHaveSeveralValues) {
  std::vector<Call> calls = parse_calls("a(image ;label, 0.5;-1e-2; 3, features='x, y;z')");
  EXPECT_EQ(calls[0].texts("names"), (std::vector<std::string>{"image", "label"}));
  EXPECT_EQ(calls[0].numbers("mean"), (std::vector<double>{0.5, -0.01, 3}));
  EXPECT_EQ(calls[0].texts_or("features", {}), (std::vector<std::string>{"x, y", "z"}));
  calls[0].check_all_used();
  EXPECT_EQ(calls[0].texts_or("features", {"other"}), std::vector<std::string>{"other"});
  EXPECT_EQ(calls[0].numbers_or("sigma", {1, 2}), (std::vector<double>{1, 2}));
  EXPECT_EQ(error_of([&] { calls[0].numbers("mean"); }), "[a] expected a value for mean, got none.");
  EXPECT_EQ(error_of([] { parse_calls("a(1;;2)")[0].numbers("mean"); }), "[a] expected a number for mean, got ''.");
}

TEST(Calls, CheckTheirArguments) {
  EXPECT_EQ(error_of([] { parse_calls("batch")[0].text("points"); }), "[batch] expected a value for points, got none.");
  EXPECT_EQ(error_of([] { parse_calls("batch(3x)")[0].whole_or("points", 1); }),
            "[batch] expected a whole number for points, got '3x'.");
  EXPECT_EQ(error_of([] { parse_calls("resize(wide)")[0].number_or("side", 1); }),
            "[resize] expected a number for side, got 'wide'.");
  EXPECT_EQ(error_of([] { parse_calls("resize(-1)")[0].count_or("side", 1); }),
            "[resize] expected 0 to 1000000 for side, got -1.");
  EXPECT_EQ(error_of([] { parse_calls("a(flag=yes)")[0].flag_or("flag", true); }),
            "[a] expected true or false for flag, got 'yes'.");
  EXPECT_EQ(error_of([] { parse_calls("shuffle(1,2)")[0].check_all_used(); }),
            "[shuffle] expected no further argument, got '1'.");
}

}  // namespace
}  // namespace belfry::tools
