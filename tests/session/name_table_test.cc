#include "belfry/session/name_table.h"

#include <gtest/gtest.h>

#include "belfry/array/npz.h"
#include "belfry/base/file.h"
#include "belfry/session/export_model.h"
#include "belfry/session/internal/name_row.h"
#include "belfry/session/session_init.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::GraphTest;
using testing_support::put_bytes;
using testing_support::TempDir;
using Names = std::vector<std::string>;
using Values = std::map<std::string, Array>;

class NameTableTest : public GraphTest {
 protected:
  Variable floats(std::string_view name, const Shape& shape, float value = 0) {
    return var(name, Array::full(f32, shape, value), true);
  }
  std::string refusal(const Values& values, RestoreOptions options) {
    Session session(graph);
    session.initialize();
    return error_of([&] { DictRestore(values, std::move(options)).init(session); });
  }
  TempDir dir;
};

Array numbers(const Shape& shape) {
  Array out(f32, shape);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>(i));
  return out;
}

TEST_F(NameTableTest, GroupsAreFilledInAndTheFirstMatchingRowWins) {
  const Variable first = floats("conv1/W", {2}), second = floats("conv2/W", {2}), other = floats("other", {2});
  Session session(graph);
  session.initialize();
  const NameTable table{{"special", "other"}, {R"(layer(\d+)\.weight)", "conv${1}/W"}, {"(layer.*|skipped)", "-"}};
  const InitReport report = DictRestore({{"layer1.weight", Array::full(f32, {2}, 1)},
                                         {"layer2.weight", Array::full(f32, {2}, 2)},
                                         {"layer2.bias", Array::full(f32, {9}, 2)},
                                         {"special", Array::full(f32, {2}, 3)}},
                                        {.names = table, .strict = true})
                                .init(session);
  EXPECT_EQ(report.restored, (Names{"conv1/W", "conv2/W", "other"}));
  EXPECT_EQ(session.value(first).item(), 1);
  EXPECT_EQ(session.value(second).item(), 2);
  EXPECT_EQ(session.value(other).item(), 3);
}

TEST_F(NameTableTest, ThePrefixComesAfterTheTable) {
  const Variable w = floats("teacher/fc/W", {2});
  Session session(graph);
  session.initialize();
  DictRestore({{"w", Array::full(f32, {2}, 4)}}, {.names = {{"w", "fc/W"}}, .prefix = "teacher"}).init(session);
  EXPECT_EQ(session.value(w).item(), 4);
}

TEST_F(NameTableTest, EverythingThatDoesNotFitIsInOneError) {
  floats("conv1/W", {2});
  floats("fc/b", {2});
  EXPECT_EQ(refusal({{"layer1.weight", Array::zeros(f32, {2})},
                     {"layer9.weight", Array::zeros(f32, {2})},
                     {"bias", Array::zeros(f32, {2})},
                     {"b", Array::zeros(f32, {2})}},
                    {.names = {{R"(layer(\d)\.weight)", "conv$1/W"}, {"bias|b", "fc/b"}, {"layer1.wight", "fc/W"}}}),
            "[DictRestore] expected names and rules that fit, got:\n"
            "  row 1 ('layer(\\d)\\.weight' -> 'conv$1/W'): 'layer9.weight' becomes 'conv9/W', which is no variable. "
            "Did you mean 'conv1/W'?\n"
            "  row 3 ('layer1.wight' -> 'fc/W'): matches none of the 4 values. Did you mean 'layer1.weight' or "
            "'layer9.weight'?\n"
            "  'fc/b': expected one value, got 'b' (row 2 ('bias|b' -> 'fc/b')) and 'bias' (row 2 ('bias|b' -> "
            "'fc/b'))\n"
            "Nothing was changed. Correct the table's rows.");
}

TEST_F(NameTableTest, AValueThatDoesNotFitItsRuleNamesRowRuleAndShapes) {
  floats("fc/W", {2, 3});
  const auto text = [&](const char* rule, const Shape& shape) {
    const std::string all = refusal({{"w", Array::zeros(f32, shape)}}, {.names = {{"w", "fc/W", rule}}});
    const std::size_t begin = all.find("\n  ") + 3;
    return all.substr(begin, all.find("\nNothing") - begin);
  };
  EXPECT_EQ(text("linear", {2, 3}),
            "row 1 ('w' -> 'fc/W'): 'w' f32 [2, 3] for 'fc/W': expected [2, 3], got [3, 2] by the rule \"linear\".");
  EXPECT_EQ(text("oihw", {2, 3}),
            "row 1 ('w' -> 'fc/W'): 'w' f32 [2, 3] for 'fc/W': expected 4 axes for 'transpose 2 3 1 0', got [2, 3].");
  EXPECT_TRUE(contains(text("gates 1 0", {2, 3}), "expected a last axis that divides into 2 gates, got [2, 3]."));
  EXPECT_TRUE(contains(text("chw 2x2x2", {2, 3}), "expected 8 rows for images of 8 elements, got [2, 3]."));
  EXPECT_TRUE(contains(text("reshape", {7}), "expected 6 elements for [2, 3], got [7]."));
  EXPECT_TRUE(contains(text("reshape 6 1", {1, 6}), "expected [6, 1] for 'reshape', got [1, 6]."));
  EXPECT_TRUE(contains(text("forget_bias 1", {2, 3}), "expected the bias of four gates, got f32 [2, 3]."));
  EXPECT_TRUE(contains(text("part 0/2", {2, 3}), "expected a variable whose last axis has 2 parts, got [2, 3]."));
  EXPECT_EQ(text("part 0/3", {2, 1}), "'fc/W': expected 3 parts for 'fc/W', got only 1");
}

TEST_F(NameTableTest, IgnoredAndMismatchedVariablesKeepTheirValues) {
  const Variable head = floats("head/W", {2, 3}, 5), body = floats("body/W", {2, 2}, 5);
  Session session(graph);
  session.initialize();
  const NameTable table{{R"((\w+)\.weight)", "$1/W", "linear"}};
  const Values values{{"head.weight", numbers({10, 2})}, {"body.weight", numbers({2, 2})}};
  DictRestore(values, {.names = table, .ignore = {"head/.*"}}).init(session);
  EXPECT_EQ(session.value(head).item(), 5);
  EXPECT_TRUE(equal(session.value(body), Array::of<float>({2, 2}, {0, 2, 1, 3})));
  const InitReport report = DictRestore(values, {.names = table, .skip_mismatched = true}).init(session);
  EXPECT_EQ(report.mismatched, Names{"head/W"});
}

TEST_F(NameTableTest, RulesDoWhatTheySay) {
  const auto result = [&](const char* rule, const Array& theirs, const Shape& ours) {
    return WeightRule::parse(rule, "").to_ours(theirs, ours);
  };
  EXPECT_TRUE(equal(result("transpose 1 0", numbers({2, 3}), {3, 2}), Array::of<float>({3, 2}, {0, 3, 1, 4, 2, 5})));
  EXPECT_TRUE(equal(result("gates 0 2 1", numbers({2, 3}), {2, 3}), Array::of<float>({2, 3}, {0, 2, 1, 3, 5, 4})));
  EXPECT_TRUE(equal(result("forget_bias 1", numbers({8}), {8}), Array::of<float>({8}, {0, 1, 3, 4, 4, 5, 6, 7})));
  // Two channels of three pixels: c0p0 c0p1 c0p2 c1p0 c1p1 c1p2 becomes c0p0 c1p0 c0p1 c1p1 c0p2 c1p2.
  EXPECT_TRUE(equal(result("chw 2x1x3", numbers({6, 1}), {6, 1}), Array::of<float>({6, 1}, {0, 3, 1, 4, 2, 5})));
  EXPECT_TRUE(equal(result("as is", numbers({2, 3}), {2, 3}), numbers({2, 3})));
  const Array conv = numbers({2, 3, 4, 5});  // [out, in, h, w]
  const Array ours = result("oihw", conv, {4, 5, 3, 2});
  EXPECT_EQ(ours.shape(), (Shape{4, 5, 3, 2}));
  EXPECT_EQ(ours.item(((3 * 5 + 1) * 3 + 2) * 2 + 1), conv.item(((1 * 3 + 2) * 4 + 3) * 5 + 1));
}

TEST_F(NameTableTest, EveryRuleGoesBackToWhatItCameFrom) {
  struct Case {
    const char* rule;
    Shape theirs, ours;
  };
  for (const auto& [rule, theirs, ours] : std::vector<Case>{{"transpose 1 2 0", {2, 3, 4}, {3, 4, 2}},
                                                            {"linear", {2, 3}, {3, 2}},
                                                            {"oiw", {2, 3, 4}, {4, 3, 2}},
                                                            {"oihw", {2, 3, 4, 5}, {4, 5, 3, 2}},
                                                            {"reshape 3 3 8 2", {3, 3, 8, 2}, {3, 3, 1, 16}},
                                                            {"gates 2 0 1", {4, 6}, {4, 6}},
                                                            {"linear, gates 2 0 1", {6, 4}, {4, 6}},
                                                            {"forget_bias 2", {8}, {8}},
                                                            {"linear, chw 2x3x4", {5, 24}, {24, 5}},
                                                            {"chw 2x3x4", {0, 5}, {0, 5}}}) {
    if (theirs.elements() == 0) continue;
    const WeightRule parsed = WeightRule::parse(rule, "");
    const Array value = numbers(theirs), there = parsed.to_ours(value, ours);
    EXPECT_EQ(there.shape(), ours) << rule;
    EXPECT_TRUE(equal(parsed.to_theirs(there), value)) << rule;
  }
}

TEST_F(NameTableTest, RowsThatMakeNoSenseAreRefusedWhenTheyAreMade) {
  const auto text = [](const NameRow& row) {
    const std::string all = error_of([&] { NameTable({row}); });
    const std::size_t begin = all.find("): ");
    return all.starts_with("[NameTable] row 1 (") && begin != std::string::npos ? all.substr(begin + 3) : all;
  };
  EXPECT_TRUE(text({"a(", "b"}).starts_with("expected an ECMAScript regular expression for their name, got an error"));
  EXPECT_EQ(text({"", "b"}), "expected a name on both sides, got none.");
  EXPECT_EQ(text({"a", ""}), "expected a name on both sides, got none.");
  EXPECT_EQ(text({"a", "b & "}), "expected a variable's name, got none beside '&'.");
  EXPECT_EQ(text({"a(b)", "c$2"}),
            "expected $1 to $1 for what their 1 groups match, got '$2'. Write $$ for a dollar sign.");
  EXPECT_TRUE(text({"a(b)", "c${1"}).starts_with("expected $1 to $1"));
  EXPECT_EQ(text({"a", "b", "transpse 1 0"}),
            "expected a rule of as is, transpose, linear, oiw, oihw, reshape, gates, forget_bias, chw, part, sum, "
            "stack, got \"transpse 1 0\". Did you mean 'transpose'?");
  EXPECT_EQ(text({"a", "b", "transpose 1 1"}),
            "expected transpose with every axis once, as in \"transpose 1 0\", got \"transpose 1 1\".");
  EXPECT_TRUE(contains(text({"a", "b", "transpose 1 0x"}), "every axis once"));
  EXPECT_TRUE(contains(text({"a", "b", "transpose"}), "every axis once"));
  EXPECT_TRUE(contains(text({"a", "b", "transpose 0 1 2 3 4 5 6 7 8"}), "every axis once"));
  EXPECT_TRUE(contains(text({"a", "b", "chw 3x4"}), "expected chw with channels, height and width"));
  EXPECT_TRUE(contains(text({"a", "b", "chw 999999999999x999999999999x9"}), "expected chw with channels"));
  EXPECT_TRUE(contains(text({"a", "b", "part 3/3"}), "expected part with its number, from 0"));
  EXPECT_TRUE(contains(text({"a", "b", "gates 0"}), "expected gates with every gate once"));
  EXPECT_TRUE(contains(text({"a", "b", "forget_bias one"}), "expected forget_bias with a number"));
  EXPECT_TRUE(contains(text({"a", "b", "linear,"}), "expected a rule after the last comma"));
  EXPECT_TRUE(contains(text({"a", "b", "part 0/2, sum"}), "expected either part or sum"));
  EXPECT_TRUE(contains(text({"a", "b & c", "sum"}), "expected several variables or a rule with part or sum, got both"));
  EXPECT_TRUE(contains(text({"a", "b", "stack"}), "expected several variables for 'stack', got one"));
}

TEST_F(NameTableTest, AreReadFromTextFiles) {
  put_bytes(dir / "names.txt", "# a comment\n\n  conv(\\d+)\\.weight ->  conv$1/W  :  oihw  \r\na -> b\n");
  const NameTable table = NameTable::from_file(dir / "names.txt");
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0]->text().theirs, "conv(\\d+)\\.weight");
  EXPECT_EQ(table.rows()[0]->text().ours, "conv$1/W");
  EXPECT_EQ(table.rows()[0]->rule().text(), "oihw");
  EXPECT_EQ(table.rows()[1]->place(), "'" + dir / "names.txt" + "':4 ('a' -> 'b')");
  put_bytes(dir / "names.txt", "a -> b\nc = d\n");
  EXPECT_EQ(file_error_of([&] { NameTable::from_file(dir / "names.txt"); }),
            "[NameTable] '" + dir / "names.txt" +
                "':2: expected \"theirs -> ours\" or \"theirs -> ours : rule\", got 'c = d'.");
  put_bytes(dir / "names.txt", "# nothing\n");
  EXPECT_EQ(file_error_of([&] { NameTable::from_file(dir / "names.txt"); }),
            "[NameTable] '" + dir / "names.txt" + "': expected at least one row, got none.");
  EXPECT_THROW(NameTable::from_file(dir / "missing.txt"), FileError);
}

TEST_F(NameTableTest, AVeryLongNameMatchesNoRowInsteadOfExhaustingTheStack) {
  const NameTable table{{"(a|b)*", "w"}};
  EXPECT_TRUE(table.rows()[0]->ours_of(std::string(kLongestMatchedName, 'a')).has_value());
  EXPECT_FALSE(table.rows()[0]->ours_of(std::string(10'000'000, 'a')).has_value());
}

TEST_F(NameTableTest, ExportUsesTheTableBackwards) {
  floats("conv1/W", {2}, 1);
  floats("conv2/W", {2}, 2);
  floats("a", {2, 3}, 3);
  floats("b", {2, 3}, 4);
  floats("whole", {4}, 5);
  floats("kept", {1}, 6);
  Session session(graph);
  session.initialize();
  const NameTable table{{R"(layer(\d+).weight)", "conv$1/W"},
                        {"(un)?used", "-"},
                        {"ab", "a & b"},
                        {"left", "whole", "part 0/2"},
                        {"right", "whole", "part 1/2"}};
  export_model(session, dir / "x.npz", {.names = table});
  const Values got = read_npz(dir / "x.npz");
  Names names;
  for (const auto& [name, value] : got) names.push_back(name);
  EXPECT_EQ(names, (Names{"ab", "kept", "layer1.weight", "layer2.weight", "left", "right"}));
  EXPECT_TRUE(equal(got.at("layer2.weight"), Array::full(f32, {2}, 2)));
  EXPECT_EQ(got.at("ab").shape(), (Shape{4, 3})) << "beside each other along the first axis that fits";
  EXPECT_TRUE(equal(got.at("right"), Array::full(f32, {2}, 5)));
  NpzRestore(dir / "x.npz", {.names = {{R"(layer(\d+).weight)", "conv$1/W"},
                                       {"ab", "a & b"},
                                       {"left", "whole", "part 0/2"},
                                       {"right", "whole", "part 1/2"}},
                             .strict = true})
      .init(session);
}

TEST_F(NameTableTest, ATableThatCannotBeReversedIsOneErrorAndNothingIsWritten) {
  floats("a/W", {2});
  floats("b/W", {2});
  floats("c/W", {3});
  Session session(graph);
  session.initialize();
  const auto text = [&](const NameTable& table) {
    return error_of([&] { export_model(session, dir / "x.npz", {.names = table}); });
  };
  EXPECT_EQ(text({{".*/a", "a/W"}, {R"(\w+_b)", "b/W"}, {"((x)y)", "c/W"}, {"(x|y)z", "c/W"}, {"d", "d/W"}}),
            "[export_model '" + dir / "x.npz" +
                "'] expected names and rules that fit, got:\n"
                "  row 1 ('.*/a' -> 'a/W'): cannot be reversed, because it has '.*' outside of a group.\n"
                "  row 2 ('\\w+_b' -> 'b/W'): cannot be reversed, because it has '\\w' outside of a group.\n"
                "  row 3 ('((x)y)' -> 'c/W'): cannot be reversed, because it has a group in a group.\n"
                "  row 4 ('(x|y)z' -> 'c/W'): cannot be reversed, because group 1 is not part of our name.\n"
                "  row 5 ('d' -> 'd/W'): leads to none of the 3 variables. Did you mean 'a/W', 'b/W' or 'c/W'?\n"
                "Nothing was written. Correct the table's rows.");
  EXPECT_TRUE(contains(text({{"x", "a/W"}, {"x", "b/W"}}),
                       "row 2 ('x' -> 'b/W'): 'b/W' would be written as 'x', which row 1 ('x' -> 'a/W') reads as "
                       "'a/W'."));
  EXPECT_TRUE(contains(text({{"b/W", "a/W"}}), "'b/W' would be the name of both 'a/W' and 'b/W'."));
  EXPECT_TRUE(contains(text({{"x", "a/W & d/W"}}), "'x': expected all 2 variables of the row, got only 'a/W'."));
  EXPECT_TRUE(contains(text({{"x", "c/W", "part 0/2"}}), "'c/W' [3] does not divide into 2 parts."));
  EXPECT_TRUE(contains(text({{"x", "c/W", "reshape"}}),
                       "'x': expected 'reshape' with their shape, which is unknown here, got none."));
  EXPECT_TRUE(dir.names().empty());
}

}  // namespace
}  // namespace belfry
