#include "belfry/callbacks/monitors/curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/callbacks/monitors/curve_canvas.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

std::int64_t count(const std::string& text, const std::string& part) {
  std::int64_t out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

std::vector<CurvePoint> line_of(std::initializer_list<double> values) {
  std::vector<CurvePoint> out;
  for (const double value : values) out.push_back({static_cast<double>(out.size() + 1), value});
  return out;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Remembers what was drawn.
struct Notes final : CurveCanvas {
  struct Line {
    std::vector<CurvePoint> points;
    Stroke stroke;
  };
  std::vector<Line> lines;
  std::vector<std::string> texts;
  std::vector<CurvePoint> dots;
  void line(std::span<const CurvePoint> points, const Stroke& stroke) override {
    lines.push_back({{points.begin(), points.end()}, stroke});
  }
  void dot(const CurvePoint& centre, double, CurveColour) override { dots.push_back(centre); }
  void text(const CurvePoint&, std::string_view text, const Lettering&) override { texts.emplace_back(text); }
  double width_of(std::string_view text, const Lettering&) const override {
    return 6.0 * static_cast<double>(text.size());
  }

  // The lines of curves are wider than those of the grid.
  std::vector<Line> curves() const {
    std::vector<Line> out;
    std::ranges::copy_if(lines, std::back_inserter(out), [](const Line& l) { return l.stroke.width > 1.7; });
    return out;
  }
  bool has_text(const std::string& text) const { return std::ranges::count(texts, text) > 0; }
};

Notes drawn(const std::vector<CurvePanel>& panels, const CurveOptions& options = {}) {
  Notes notes;
  draw_curves(panels, options, notes);
  return notes;
}

TEST(CurvesSvg, IsAPictureWithAllNames) {
  const std::string svg = curves_svg({{"cost", {{"cost", line_of({3, 2, 1})}, {"validation_cost", line_of({4, 3, 2})}}},
                                      {"a<b & \"c\"", {{"x", line_of({1, 1})}}}},
                                     {.title = "run 1"});
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1002\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* text : {">run 1</text>", ">cost</text>", ">validation_cost</text>",
                           ">a&lt;b &amp; &quot;c&quot;</text>", ">epoch</text>"})
    EXPECT_TRUE(contains(svg, text)) << text;
  EXPECT_EQ(count(svg, "nan"), 0);
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
}

TEST(Curves, RiseWithTheirValues) {
  const auto curves = drawn({{"up", {{"up", line_of({1, 2, 4})}}}}).curves();
  ASSERT_EQ(curves.size(), 1u);
  const auto& p = curves[0].points;
  ASSERT_EQ(p.size(), 3u);
  EXPECT_LT(p[0].x, p[1].x);
  EXPECT_NEAR(p[1].x - p[0].x, p[2].x - p[1].x, 1e-9);
  EXPECT_NEAR(p[1].y - p[2].y, 2 * (p[0].y - p[1].y), 1e-9);  // y goes down the picture
}

TEST(Curves, BreakWhereAValueIsNotFinite) {
  const Notes notes = drawn({{"cost", {{"cost", line_of({3, 2, kNan, 1, 2, HUGE_VAL, 5})}}}});
  EXPECT_EQ(notes.curves().size(), 2u);  // and a dot for the last value
  EXPECT_TRUE(notes.has_text("cost (2 not finite)"));
  EXPECT_TRUE(drawn({{"cost", {{"cost", line_of({kNan})}}}}).has_text("cost (1 not finite)"));
}

TEST(Curves, ShowTheExtremesOfManyPoints) {
  Series series{.name = "x"};
  for (int i = 0; i < 100'000; ++i) series.points.push_back({static_cast<double>(i), i == 54'321 ? 100.0 : i % 2});
  const auto curves = drawn({{"x", {series}}}).curves();
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_LT(curves[0].points.size(), 4u * 480);
  const auto highest = std::ranges::min(curves[0].points, {}, &CurvePoint::y);
  EXPECT_EQ(std::ranges::count(curves[0].points, highest.y, &CurvePoint::y), 1);
}

TEST(Curves, AreLogarithmicOnlyAboveZero) {
  const auto curves = drawn({{"rate", {{"rate", line_of({1, 0.1, 0.01})}}}}, {.logarithmic = true}).curves();
  const auto& p = curves.at(0).points;
  EXPECT_NEAR(p[1].y - p[0].y, p[2].y - p[1].y, 1e-9);
  EXPECT_TRUE(drawn({{"x", {{"x", line_of({1, 0})}}}}, {.logarithmic = true}).has_text("x (linear: not all above 0)"));
}

TEST(Curves, HaveALegendForSeveralSeriesWithTheirColours) {
  Series a{.name = "a", .points = line_of({1, 2}), .colour = 3, .dashed = true},
      b{.name = "b", .points = line_of({2, 1})};
  const Notes notes = drawn({{"cost", {a, b}}});
  EXPECT_TRUE(notes.has_text("a") && notes.has_text("b"));
  EXPECT_TRUE(std::ranges::any_of(notes.curves(), [](const Notes::Line& l) {
    return l.stroke.dashed && l.stroke.colour.red == curve_colour(3).red;
  }));
  EXPECT_FALSE(drawn({{"cost", {a}}}).has_text("a"));  // the title says it
}

TEST(Curves, SmoothWhatIsThereWithoutDelayAtTheStart) {
  const auto s = smoothed(line_of({4, kNan, 1}), 0.5);
  EXPECT_EQ(s[0].y, 4);
  EXPECT_TRUE(std::isnan(s[1].y));
  EXPECT_DOUBLE_EQ(s[2].y, (0.5 * 4 + 1) / 1.5);
  EXPECT_EQ(drawn({{"x", {{"x", line_of({1, 2, 3})}}}}, {.smoothing = 0.9}).curves().size(), 1u);
}

TEST(Curves, SayWhatTheyCannotDraw) {
  EXPECT_EQ(error_of([] { curves_svg({}); }), "[curves] expected something to draw, got no panel.");
  EXPECT_EQ(error_of([] { curves_svg({{"x", {}}}, {.smoothing = 1}); }),
            "[curves] expected a smoothing from 0 to below 1, got 1.");
  EXPECT_EQ(error_of([] { curves_svg({{"x", {}}}, {.panel_width = 10}); }),
            "[curves] expected panels of 160 x 120 to 10000 x 10000 pixels, got 10 x 300.");
  EXPECT_EQ(error_of([] { curves_svg({{"x", {{"s", {{kNan, 1}}}}}}); }),
            "[curves] expected finite x values, got another in 's' of panel 'x'.");
  EXPECT_TRUE(contains(curves_svg({{"empty", {}}}), ">empty</text>"));
}

}  // namespace
}  // namespace belfry
