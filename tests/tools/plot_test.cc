#include "tools/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "belfry/base/file.h"
#include "tests/tools/runs_testing.h"
#include "tests/tools/weights_testing.h"
#include "tools/bitmap_font.h"
#include "tools/command_line.h"
#include "tools/metric_panels.h"
#include "tools/raster_canvas.h"
#include "tools/terminal_plot.h"

namespace belfry::tools {
namespace {

using testing_support::file_error_of;
using testing_support::TempDir;

const char* const kStats = R"([
{"epoch_num": 1, "global_step": 10, "cost": 4, "validation_cost": 5, "train_error": 0.5, "rate": 1},
{"epoch_num": 2, "global_step": 20, "cost": "inf", "validation_cost": 3, "train_error": 0.25, "rate": 0.1},
{"epoch_num": 3, "global_step": 30, "cost": 1, "validation_cost": 2, "train_error": 0.125, "rate": 0.01}
])";

TEST(RunStats, ReadsWhatJsonWriterWrites) {
  const TempDir dir;
  const RunStats stats = read_run_stats(put_run(dir.path(), "stats.json", kStats));
  ASSERT_EQ(stats.metrics.size(), 4u);
  const auto& cost = stats.metrics.at("cost");
  EXPECT_EQ(cost[0].value, 4);
  EXPECT_EQ(cost[1].value, HUGE_VAL);
  EXPECT_EQ(cost[2].epoch, 3);
  EXPECT_EQ(cost[2].step, 30);
  EXPECT_EQ(read_run_stats(dir / "stats.json").metrics.size(), 4u);
}

TEST(RunStats, ThatAreMissingOrDamagedAreClearErrors) {
  const TempDir dir;
  const auto error = [&](const std::string& text) {
    put_run(dir.path(), "stats.json", text);
    return file_error_of([&] { read_run_stats(dir.path()); });
  };
  EXPECT_TRUE(contains(error(std::string(kStats).substr(0, 150)), "The file is damaged or cut short."));
  EXPECT_TRUE(contains(error(""), "expected JSON, got an error at line 1, column 1"));
  EXPECT_TRUE(contains(error("{}"), "expected a list, got object."));
  EXPECT_TRUE(contains(error("[3]"), "entry 1: expected an object, got number."));
  EXPECT_TRUE(
      contains(error(R"([{"global_step": 1}])"), "entry 1: expected a whole number for 'epoch_num', got none."));
  EXPECT_TRUE(contains(error(R"([{"epoch_num": 1, "global_step": 1, "cost": "big"}])"),
                       "expected a number, \"nan\", \"inf\" or \"-inf\" for 'cost', got 'big'."));
  EXPECT_TRUE(contains(error(R"([{"epoch_num": 1, "global_step": 1, "cost": 1e999}])"), "out of range"));
  EXPECT_TRUE(
      contains(file_error_of([&] { read_run_stats(dir / "none"); }), "got nothing there. Name a run's directory"));
}

TEST(MetricPanels, PutTrainingAndValidationTogether) {
  EXPECT_EQ(metric_of("validation_cost"), "cost");
  EXPECT_EQ(metric_of("train/error-top1"), "error-top1");
  EXPECT_EQ(metric_of("valve"), "valve");
  EXPECT_EQ(metric_of("test_"), "test_");
  const TempDir dir;
  const NamedRun run{"a", read_run_stats(put_run(dir.path(), "stats.json", kStats))};
  const auto panels = metric_panels({run}, "", CurveAxis::step);
  ASSERT_EQ(panels.size(), 3u);
  EXPECT_EQ(panels[0].title, "cost");
  ASSERT_EQ(panels[0].series.size(), 2u);
  EXPECT_EQ(panels[0].series[0].name, "cost");
  EXPECT_EQ(panels[0].series[1].name, "validation_cost");
  EXPECT_EQ(panels[0].series[1].points[2].x, 30);
  EXPECT_EQ(panels[1].title, "train_error");
  EXPECT_EQ(panels[2].title, "rate");
  EXPECT_EQ(metric_panels({run}, "validation_.*", CurveAxis::epoch).at(0).series.size(), 1u);
  EXPECT_EQ(metric_panels({run}, "cost|rate", CurveAxis::epoch).size(), 2u);
  EXPECT_TRUE(contains(error_of([&] { metric_panels({run}, "costs", CurveAxis::epoch); }), "Did you mean 'cost'"));
  EXPECT_THROW(metric_panels({run}, "(", CurveAxis::epoch), BadArgument);
}

TEST(MetricPanels, GiveEachRunAColour) {
  const TempDir dir;
  const RunStats stats = read_run_stats(put_run(dir.path(), "stats.json", kStats));
  const auto panels = metric_panels({{"a", stats}, {"b", stats}}, "cost|rate", CurveAxis::epoch);
  ASSERT_EQ(panels[0].series.size(), 4u);
  EXPECT_EQ(panels[0].series[2].name, "b: cost");
  EXPECT_EQ(panels[0].series[2].colour, panels[0].series[3].colour);
  EXPECT_TRUE(panels[0].series[2].dashed);
  EXPECT_FALSE(panels[0].series[3].dashed);
  EXPECT_EQ(panels[1].series[1].name, "b");
  EXPECT_EQ(run_names({"train_log/a/", "train_log/b"}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(run_names({"x/net", "y/net/stats.json"}), (std::vector<std::string>{"x/net", "y/net"}));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == '\n')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

TEST(TerminalPlot, FitsTheWidthInPlainCharacters) {
  const CurvePanel panel{"cost", {{"a", {{1, 4}, {2, 2}, {3, NAN}, {4, 1}}}, {"b", {{1, 3}, {4, 3}}}}};
  const std::string out = terminal_plot(panel, {}, {.width = 50, .height = 6, .ascii = true});
  const auto lines = lines_of(out);
  EXPECT_EQ(lines[0], "cost (1 not finite)");
  EXPECT_EQ(lines[1], "  * a  + b");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 50u);
  for (const char c : out) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  EXPECT_EQ(lines.size(), 2u + 6 + 2 + 1);
  EXPECT_TRUE(contains(lines[2], "*"));  // the greatest value is at the top
  EXPECT_TRUE(contains(lines[7], "*"));
}

TEST(TerminalPlot, DrawsWithBrailleDotsAndColours) {
  const CurvePanel one{"x", {{"a", {{0, 0}, {1, 1}}}}};
  EXPECT_TRUE(contains(terminal_plot(one, {}, {.width = 40, .height = 4}), "⡠"));
  const CurvePanel two{"x", {{"a", {{0, 0}, {1, 1}}}, {"b", {{0, 1}, {1, 0}}}}};
  EXPECT_FALSE(contains(terminal_plot(two, {}, {.width = 40, .height = 4}), "\x1b["));
  const std::string coloured = terminal_plot(two, {}, {.width = 40, .height = 4, .colour = true});
  EXPECT_TRUE(contains(coloured, "\x1b[34m") && contains(coloured, "\x1b[33m") && contains(coloured, "\x1b[0m"));
}

TEST(RasterCanvas, DrawsWhereItIsAsked) {
  RasterCanvas canvas({40, 20}, 2);
  EXPECT_EQ(canvas.image().shape(), Shape({40, 80, 3}));
  const CurvePoint line[] = {{5, 10}, {35, 10}};
  canvas.line(line, {.colour = {255, 0, 0}, .width = 2});
  const auto red = [&](std::int64_t x, std::int64_t y) {
    return canvas.image().item((y * 80 + x) * 3) == 255 && canvas.image().item((y * 80 + x) * 3 + 1) == 0;
  };
  EXPECT_TRUE(red(20, 19) && red(60, 20));
  EXPECT_FALSE(red(20, 10));
  EXPECT_FALSE(red(2, 20));
  // Beyond the edges, nothing happens.
  const CurvePoint outside[] = {{-50, -50}, {500, 500}, {30, 1e7}};
  canvas.line(outside, {.colour = {0, 0, 0}, .dashed = false});
  canvas.dot({-100, 3}, 4, {0, 0, 0});
}

TEST(RasterCanvas, WritesEveryCharacter) {
  for (int c = ' ' + 1; c < 127; ++c) {
    RasterCanvas canvas({20, 20}, 2);
    canvas.text({5, 12}, std::string(1, static_cast<char>(c)), {.size = 11});
    const auto pixels = canvas.image().values<std::uint8_t>();
    EXPECT_TRUE(std::ranges::any_of(pixels, [](std::uint8_t v) { return v < 128; })) << static_cast<char>(c);
    const std::string_view glyph = glyph_of(static_cast<char>(c));
    for (std::size_t i = 0; i < glyph.size(); ++i)
      EXPECT_EQ(glyph[i] == ' ', (i + 1) % static_cast<std::size_t>(glyph_width(static_cast<char>(c)) + 1) == 0)
          << glyph;
  }
  EXPECT_EQ(glyph_of('\xc3'), glyph_of('?'));
}

TEST(Plot, WritesPictures) {
  const TempDir dir;
  const std::string run = put_run(dir / "net", "stats.json", kStats);
  EXPECT_EQ(printed_by([&] { plot({.runs = {run}, .output = dir / "c.svg"}); }),
            (dir / "c.svg") + ": 3 panels of 1 run\n");
  const std::string svg = read_file(dir / "c.svg");
  EXPECT_TRUE(contains(svg, ">net</text>") && contains(svg, ">validation_cost</text>") &&
              contains(svg, ">cost (1 not finite)</text>"));
  printed_by([&] { plot({.runs = {run}, .output = dir / "c.png"}); });
  EXPECT_TRUE(read_file(dir / "c.png").starts_with("\x89PNG\r\n"));
  const std::string json = printed_by([&] { plot({.runs = {run}, .metrics = "cost", .json = true}); });
  EXPECT_TRUE(contains(json, "\"metric\": \"cost\"") && contains(json, "\"inf\""));
  EXPECT_EQ(error_of([&] { plot({.runs = {run}, .output = "c.bmp"}); }),
            "[plot] expected an output that ends in .svg or .png, got 'c.bmp'.");
  put_run(dir / "empty", "stats.json", "[]");
  EXPECT_TRUE(contains(error_of([&] { plot({.runs = {dir / "empty"}}); }), "no metric was written yet."));
}

}  // namespace
}  // namespace belfry::tools
