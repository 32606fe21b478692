#include "belfry/graph/export.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

// A parser of the part of DOT that to_dot writes; a text that does not parse fails the test.
class Dot {
 public:
  using Attributes = std::map<std::string, std::string>;
  struct Item {
    std::vector<std::string> clusters;  // the labels of those around it
    Attributes attributes;
  };

  explicit Dot(std::string_view text) : text_(text) {
    expect("digraph");
    token();
    expect("{");
    body({});
    skip();
    if (at_ != text_.size()) ADD_FAILURE() << "text after the graph: " << text_.substr(at_);
  }

  const Item& node(const std::string& label_line) const {
    for (const auto& [id, item] : nodes)
      if (item.attributes.at("label").starts_with(label_line + "\n")) return item;
    ADD_FAILURE() << "no node " << label_line;
    return nodes.begin()->second;
  }
  std::string label(const std::string& id) const { return nodes.at(id).attributes.at("label"); }

  std::map<std::string, Item> nodes;
  std::vector<std::pair<std::pair<std::string, std::string>, Attributes>> edges;
  std::set<std::string> clusters;

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  std::string token() {
    skip();
    if (at_ >= text_.size()) return "";
    if (text_[at_] == '"') return string();
    if (text_.substr(at_, 2) == "->") return at_ += 2, "->";
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (begin == at_) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string string() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\n') ADD_FAILURE() << "a line break inside a string";
      if (text_.substr(at_, 5) == "&amp;")
        out += '&', at_ += 4;
      else if (text_[at_] != '\\')
        out += text_[at_];
      else if (text_[++at_] == 'n')
        out += '\n';
      else
        out += text_[at_];
    }
    ++at_;
    return out;
  }
  void expect(const std::string& wanted) {
    if (const std::string got = token(); got != wanted)
      ADD_FAILURE() << "expected " << wanted << ", got " << got << " at " << at_;
  }
  Attributes attributes() {  // after "["
    Attributes out;
    for (std::string key = token(); key != "]" && !key.empty(); key = token()) {
      if (key == ",") continue;
      expect("=");
      out[key] = token();
    }
    return out;
  }
  void body(std::vector<std::string> around) {
    for (std::string first = token(); first != "}" && !first.empty(); first = token()) {
      if (first == "subgraph") {
        const std::string id = token();
        EXPECT_TRUE(clusters.insert(id).second) << "two clusters " << id;
        expect("{");
        body(around);
        continue;
      }
      std::string next = token();
      if (next == "=") {
        const std::string value = token();
        if (first == "label") around.push_back(value);
        next = token();
      } else if (next == "->") {
        const std::string to = token();
        expect("[");
        edges.push_back({{first, to}, attributes()});
        next = token();
      } else if (next == "[") {
        const Attributes found = attributes();
        if (first != "node" && first != "edge") nodes[first] = {around, found};
        next = token();
      }
      if (next != ";") ADD_FAILURE() << "expected ;, got " << next << " at " << at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class ExportTest : public testing::Test {
 protected:
  nlohmann::json json() const { return nlohmann::json::parse(to_json(graph)); }
  nlohmann::json node(const std::string& name) const {
    const nlohmann::json all = json();
    for (const auto& n : all["nodes"])
      if (n["name"] == name) return n;
    ADD_FAILURE() << "no node " << name;
    return {};
  }

  Graph graph;
  GraphScope scope{graph};
};

TEST_F(ExportTest, AnEmptyGraphIsAValidDocument) {
  EXPECT_TRUE(Dot(to_dot(graph)).nodes.empty());
  EXPECT_TRUE(json()["nodes"].empty());
  EXPECT_TRUE(json()["collections"].empty());
}

TEST_F(ExportTest, DotNestsScopesAndLabelsEdgesWithShapes) {
  const Tensor x = placeholder({"image", f32, {kAny, 4}});
  Tensor y;
  {
    const NameScope outer("block");
    const NameScope inner("relu");
    y = add(x, 1.f, "sum");
  }
  const Tensors halves = split(y, 2, 1, "halves");
  exp(halves[1], "top");
  const Dot dot(to_dot(graph));
  EXPECT_EQ(dot.nodes.size(), graph.nodes().size());
  EXPECT_EQ(dot.node("sum").clusters, (std::vector<std::string>{"block", "relu"}));
  EXPECT_TRUE(dot.node("image").clusters.empty());
  EXPECT_EQ(dot.node("sum").attributes.at("label"), "sum\nAdd");
  std::map<std::string, std::string> labels;
  for (const auto& [ends, attributes] : dot.edges)
    labels[dot.label(ends.first) + " > " + dot.label(ends.second)] = attributes.at("label");
  EXPECT_EQ(labels.at("image\nPlaceholder > sum\nAdd"), "f32 [?, 4]");
  EXPECT_EQ(labels.at("halves\nSplit > top\nExp"), ":1 f32 [?, 2]");
}

TEST_F(ExportTest, DotShowsControlEdgesVariablesAndUpdatesApart) {
  const Variable v = get_variable("v", {.shape = {}});
  const Tensor next = v.assign_add(1.f);
  {
    const ControlDependencies after({next});
    identity(v.read(), "out");
  }
  const Dot dot(to_dot(graph));
  int dashed = 0;
  for (const auto& [ends, attributes] : dot.edges) {
    if (!attributes.contains("style")) continue;
    EXPECT_EQ(attributes.at("style"), "dashed");
    EXPECT_TRUE(dot.label(ends.first).starts_with("AssignAdd\n"));
    ++dashed;
  }
  EXPECT_EQ(dashed, 2);  // the read and the identity
  EXPECT_EQ(dot.node("v").attributes.at("shape"), "cylinder");
  EXPECT_EQ(dot.node("AssignAdd").attributes.at("peripheries"), "2");
  EXPECT_FALSE(dot.node("out").attributes.contains("peripheries"));
}

TEST_F(ExportTest, OddCharactersSurviveInBothForms) {
  const std::vector<std::string> odd = {"a \"quoted\" name", "back\\slash\\", "two\nlines", "-> {x}; [y]",
                                        "\xc3\xa9t\xc3\xa9", "<b>&amp;</b>",  "/rooted",    "twice//over"};
  Tensor x = constant(1.f, "x");
  for (const std::string& name : odd) (x = add(x, x)).node()->name = name;  // no user could
  const Dot dot(to_dot(graph));
  EXPECT_EQ(dot.nodes.size(), odd.size() + 1);
  for (const std::string& name : odd) {
    EXPECT_EQ(node(name)["name"], name);
    const std::string last = name.substr(name.rfind('/') + 1);
    dot.node(last);
  }
}

TEST_F(ExportTest, BytesThatAreNoTextAreReplaced) {
  add(constant(1.f, "x"), 1.f).node()->name = "bad\xff\x01";  // no user could
  const Dot dot(to_dot(graph));
  EXPECT_EQ(dot.node("bad??").attributes.at("label"), "bad??\nAdd");
  EXPECT_EQ(node("bad\xef\xbf\xbd\x01")["op"], "Add");
}

TEST_F(ExportTest, JsonHasInputsOutputsDeviceAndSourceLine) {
  const Tensor x = placeholder({"x", f32, {kAny, 4}});
  const Tensors parts = split(x, {1, 3}, 1, "parts");
  {
    const DeviceScope device("cpu:1");
    const ControlDependencies after({x});
    exp(parts[1], "top");
  }
  const unsigned line = __LINE__ - 2;
  const auto top = node("top");
  EXPECT_EQ(top["op"], "Exp");
  EXPECT_EQ(top["inputs"], nlohmann::json({"parts:1"}));
  EXPECT_EQ(top["control_inputs"], nlohmann::json({"x"}));
  EXPECT_EQ(top["outputs"].size(), 1u);
  EXPECT_EQ(top["outputs"][0]["dtype"], "f32");
  EXPECT_EQ(top["outputs"][0]["shape"], nlohmann::json({nullptr, 3}));
  EXPECT_EQ(top["device"], "cpu:1");
  EXPECT_EQ(top["where"], "export_test.cc:" + std::to_string(line));
  EXPECT_EQ(node("parts")["outputs"].size(), 2u);
  EXPECT_EQ(json()["nodes"].size(), graph.nodes().size());
}

TEST_F(ExportTest, JsonAttributesKeepTheirTypesAndLargeArraysAreSummarised) {
  constant(Array::of<std::int64_t>({2}, {std::int64_t{1} << 60, -3}), "small");
  constant(Array::of<bool>({}, {true}), "flag");
  Array big = Array::full(f32, {20}, 2);
  big.set_item(3, -6);
  constant(big, "big");
  transpose(placeholder({"x", f64, {2, kAny}}), {1, 0}, "turned");
  EXPECT_EQ(node("small")["attributes"]["value"]["values"], nlohmann::json({std::int64_t{1} << 60, -3}));
  EXPECT_EQ(node("flag")["attributes"]["value"]["values"], nlohmann::json({true}));
  const auto summary = node("big")["attributes"]["value"];
  EXPECT_FALSE(summary.contains("values"));
  EXPECT_EQ(summary["shape"], nlohmann::json({20}));
  EXPECT_EQ(summary["min"], -6);
  EXPECT_EQ(summary["max"], 2);
  EXPECT_NEAR(summary["mean"].get<double>(), 1.6, 1e-12);
  EXPECT_EQ(node("turned")["attributes"]["perm"], nlohmann::json({1, 0}));
  EXPECT_EQ(node("x")["attributes"]["shape"], nlohmann::json({2, nullptr}));
  EXPECT_EQ(node("x")["attributes"]["dtype"], "f64");
}

TEST_F(ExportTest, JsonNamesNumbersThatItHasNoSyntaxFor) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  constant(Array::of<float>({3}, {kNan, kInf, -kInf}), "odd");
  Array big = Array::full(f32, {20}, 2);
  big.set_item(3, kNan);
  constant(big, "big");
  EXPECT_EQ(node("odd")["attributes"]["value"]["values"], nlohmann::json({"nan", "inf", "-inf"}));
  EXPECT_EQ(node("big")["attributes"]["value"]["min"], "nan");
  EXPECT_EQ(node("big")["attributes"]["value"]["mean"], "nan");
}

TEST_F(ExportTest, JsonListsVariablesAndCollections) {
  const VariableScope fc("fc");
  const Variable w = get_variable("W", {.shape = {2, 3}});
  const Variable mean = new_variable("mean", {.shape = {3}});
  graph.collections().add(collection::kUpdateOps, Operation(mean.assign_add(mean)));
  graph.collections().add(collection::kSummaries, exp(w, "e"));
  graph.set_seed(7);
  const auto out = json();
  ASSERT_EQ(out["variables"].size(), 2u);
  EXPECT_EQ(out["variables"][0]["name"], "fc/W");
  EXPECT_EQ(out["variables"][0]["shape"], nlohmann::json({2, 3}));
  EXPECT_EQ(out["variables"][0]["trainable"], true);
  EXPECT_EQ(out["variables"][1]["trainable"], false);
  EXPECT_EQ(node(out["variables"][0]["initial_value"])["op"], "RandomUniform");
  EXPECT_EQ(out["collections"]["TRAINABLE_VARIABLES"], nlohmann::json({"fc/W"}));
  EXPECT_EQ(out["collections"]["GLOBAL_VARIABLES"], nlohmann::json({"fc/W", "fc/mean"}));
  EXPECT_EQ(out["collections"]["SUMMARIES"], nlohmann::json({"fc/e"}));
  EXPECT_EQ(out["collections"]["UPDATE_OPS"], nlohmann::json({"fc/AssignAdd"}));
  EXPECT_EQ(out["seed"], 7);
  EXPECT_EQ(out["finalized"], false);
}

}  // namespace
}  // namespace belfry
