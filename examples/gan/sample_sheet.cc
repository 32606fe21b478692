#include "examples/gan/sample_sheet.h"

#include <fmt/format.h>

#include "examples/gan/dcgan.h"

namespace bf = belfry;

namespace {

constexpr std::int64_t kImages = 64;

}  // namespace

SampleSheet::SampleSheet(std::uint64_t seed) : z_(bf::f32, {kImages, DCGAN::kLatent}) {
  bf::RandomStream random(seed);
  for (float& z : z_.values<float>()) z = static_cast<float>(random.normal());
}

void SampleSheet::setup_graph() { generate_ = trainer().inference_towers().get_predictor({"z"}, {"generated"}); }

void SampleSheet::trigger() {
  const std::string path = fmt::format("{}/epoch-{:03}.png", trainer().run_dir(), trainer().epoch_num());
  bf::write_png(path, bf::image_sheet(bf::rows_of(generate_({z_})[0]), {.scale = 2}));
  bf::log_info("Generated images are in " + path);
}
