#include "belfry/base/check.h"
#include "belfry/engine/plan.h"

namespace belfry {
namespace {

std::string megabytes(double bytes) { return fmt::format("{:.2f} MB", bytes / 1e6); }

std::string precision_line(Precision precision, const Explanation& e) {
  if (precision == Precision::f32) return "precision f32\n";
  std::string text = fmt::format(
      "precision bf16 ({}): {} instructions multiply in bf16, {} of them emulated{}, and sum in f32",
      precision == Precision::bf16 ? e.bf16_reason : "emulation was asked for", e.native_bf16 + e.emulated_bf16,
      e.emulated_bf16, e.native_bf16 > 0 && e.emulated_bf16 > 0 ? " (convolutions with groups or channels first)" : "");
  for (std::size_t i = 0; i < e.kept_f32.size(); ++i)
    text += fmt::format("{} {}", i == 0 ? "; these multiply in f32:" : ",", e.kept_f32[i]);
  return text + "\n";
}

// What recompute costs and gains.
std::string saving(const Explanation& e, MemoryUse memory) {
  if (e.recomputed == 0) return "";
  const auto with = static_cast<double>(memory.arena());
  memory.arenas = e.plain_arenas;
  const auto without = static_cast<double>(memory.arena());
  return fmt::format(
      "recompute: {} instructions of {} segments run again, {:.3f} GFLOP; arena {} instead of {}, {} ({:.1f} %) "
      "saved\n",
      e.recomputed, e.recomputed_segments.size(), e.recomputed_flops / 1e9, megabytes(with), megabytes(without),
      megabytes(without - with), 100 * (without - with) / without);
}

}  // namespace

std::string Plan::explain() const {
  Explanation e;
  for (const DeviceInfo& device : devices_) e.devices.push_back(device.name.name());
  for (const auto& part : parts_) part->explain(e);
  const MemoryUse use = memory();
  const std::string text =
      e.text + precision_line(precision_, e) + to_string(use, e.devices) +
      fmt::format("{} instructions, {} fused groups, {} reorders, arena {}, {:.3f} GFLOP, {} read and written\n",
                  e.instructions, e.fused, e.reorders, megabytes(static_cast<double>(use.arena())), e.flops / 1e9,
                  megabytes(e.bytes)) +
      saving(e, use);
  return rest_ == nullptr ? text : text + rest_->explain();
}

}  // namespace belfry
