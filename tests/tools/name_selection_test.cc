#include "tools/name_selection.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tools/command_line.h"

namespace belfry::tools {
namespace {

Weights weights_with(const std::vector<std::string>& names) {
  Weights out{.path = "w.npz", .kind = Weights::Kind::npz};
  for (const std::string& name : names) out.tensors.emplace(name, Array(1.f));
  return out;
}

std::vector<std::string> renamed(const std::vector<std::string>& names, const std::vector<std::string>& expressions) {
  Weights weights = weights_with(names);
  std::vector<Renaming> renamings;
  for (const std::string& text : expressions) renamings.push_back(parse_renaming(text));
  rename(weights, renamings);
  return names_of(weights);
}

TEST(Renaming, IsWhatSedDoes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(renamed({"a/b/c"}, {"s/b/x/"}), Names{"a/x/c"});
  EXPECT_EQ(renamed({"aaa"}, {"s/a/b/"}), Names{"baa"});
  EXPECT_EQ(renamed({"aaa"}, {"s/a/b/g"}), Names{"bbb"});
  EXPECT_EQ(renamed({"layer3/weight"}, {"s,layer([0-9]+)/weight,conv\\1/W,"}), Names{"conv3/W"});
  EXPECT_EQ(renamed({"W"}, {"s/W/<&>/"}), Names{"<W>"});
  EXPECT_EQ(renamed({"a/b"}, {"s/a\\/b/c/"}), Names{"c"});
  EXPECT_EQ(renamed({"a"}, {"s/a/b/", "s/b/c/"}), Names{"c"});
  EXPECT_EQ(renamed({"model/W"}, {"s,^model/,,"}), Names{"W"});
  EXPECT_EQ(renamed({"a", "b"}, {"s/^a$/c/", "s/^b$/a/", "s/^c$/b/"}), (Names{"a", "b"}));  // exchanged
}

TEST(Renaming, RefusesWhatIsNoExpression) {
  for (const char* text : {"", "s", "s/a", "s/a/b", "s/a/b/c/", "s/a/b/x", "s//b/", "y/a/b/", "sxaxbx", "a/b"})
    EXPECT_THROW(parse_renaming(text), BadArgument) << text;
  EXPECT_THROW(parse_renaming("s/(/b/"), BadArgument);
}

TEST(Renaming, RefusesCollisionsEmptyNamesAndWhatMatchesNothing) {
  EXPECT_EQ(error_of([] { renamed({"a0", "a1"}, {"s/[0-9]//"}); }),
            "[rename] 'w.npz': expected different names, got 'a' for both 'a0' and 'a1'.");
  EXPECT_EQ(error_of([] { renamed({"a", "b"}, {"s/a/b/"}); }),
            "[rename] 'w.npz': expected different names, got 'b' for both 'a' and 'b'.");
  EXPECT_EQ(error_of([] { renamed({"a", "b"}, {"s/a//"}); }),
            "[rename] 'w.npz': expected a name for 'a', got an empty one.");
  EXPECT_EQ(error_of([] { renamed({"conv0/W", "fc/b"}, {"s,conv1/W,x,"}); }),
            "[weights] 'w.npz': expected 'conv1/W' to match the name of a tensor, got none of 2. Did you mean "
            "'conv0/W'?");
}

TEST(NameSelection, TakesWholeNames) {
  Weights weights = weights_with({"conv0/W", "conv0/W/Adam/m", "conv1/W"});
  keep_matching(weights, "conv./W");
  EXPECT_EQ(names_of(weights), (std::vector<std::string>{"conv0/W", "conv1/W"}));
  EXPECT_EQ(drop_matching(weights, std::vector<std::string>{"conv1.*", ".*1/W"}), std::vector<std::string>{"conv1/W"});
  EXPECT_THROW(keep_matching(weights, "["), BadArgument);
}

TEST(NameSelection, RefusesNamesThatTheMatcherCouldNotTake) {
  Weights weights = weights_with({std::string(1'000'000, 'a')});
  EXPECT_TRUE(contains(error_of([&] { keep_matching(weights, "(a|b)*"); }),
                       "expected names of at most 4096 bytes for regular expressions"));
}

}  // namespace
}  // namespace belfry::tools
