#include "tools/metric_summary.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

namespace belfry::tools {
namespace {

// "validation", "top1", "accuracy" of "validation/top1-Accuracy".
std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> out;
  std::string word;
  for (const char c : name + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      out.insert(word);
      word.clear();
    }
  }
  return out;
}

}  // namespace

bool higher_is_better(const std::string& metric) {
  const std::set<std::string> words = words_of(metric);
  const auto has = [&](const char* word) { return words.contains(word); };
  for (const char* bad : {"error", "err", "loss", "cost"})
    if (has(bad)) return false;
  for (const char* good :
       {"accuracy", "acc",   "precision", "recall", "f1",    "auc",  "map",  "ap",   "iou",  "miou",      "dice",
        "bleu",     "rouge", "reward",    "return", "score", "psnr", "ssim", "top1", "top5", "likelihood"})
    if (has(good)) return true;
  return false;
}

std::vector<MetricSummary> summarized(const RunStats& stats) {
  std::vector<MetricSummary> out;
  for (const auto& [name, points] : stats.metrics) {
    MetricSummary summary{.name = name, .last = points.back(), .higher_is_better = higher_is_better(name)};
    for (const StatsPoint& point : points) {
      if (!std::isfinite(point.value)) continue;
      const auto& best = summary.best;
      const bool better = !best || (summary.higher_is_better ? point.value > best->value : point.value < best->value);
      if (better) summary.best = point;
    }
    out.push_back(std::move(summary));
  }
  return out;
}

}  // namespace belfry::tools
