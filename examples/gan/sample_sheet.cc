#include "examples/gan/sample_sheet.h"

#include <belfry/base/file.h>
#include <fmt/format.h>

#include <algorithm>

#include "examples/gan/dcgan.h"

namespace bf = belfry;

SampleSheet::SampleSheet(std::uint64_t seed) : z_(bf::f32, {DCGAN::kShown, DCGAN::kLatent}) {
  bf::RandomStream random(seed);
  for (float& z : z_.values<float>()) z = static_cast<float>(random.normal());
}

void SampleSheet::setup_graph() {
  generate_ = dynamic_cast<bf::TowerTrainer&>(trainer()).get_predictor({"z"}, {"generated"});
}

void SampleSheet::trigger() {
  const std::string path = fmt::format("{}/epoch-{:03}.pgm", trainer().run_dir(), trainer().epoch_num());
  bf::write_file_atomically(path, pgm_sheet(generate_({z_})[0], 8));
  bf::log_info("Generated images are in " + path);
}

std::string pgm_sheet(const bf::Array& images, int columns) {
  const bf::Shape& shape = images.shape();
  const std::int64_t count = shape[0], height = shape[1], width = shape[2];
  const std::int64_t across = columns * width, down = (count + columns - 1) / columns * height;
  const std::string header = fmt::format("P5\n{} {}\n255\n", across, down);
  std::string out = header + std::string(static_cast<std::size_t>(across * down), '\0');
  const auto pixels = images.values<float>();
  for (std::int64_t i = 0; i < count * height * width; ++i) {
    const std::int64_t image = i / (height * width), y = i / width % height, x = i % width;
    const std::int64_t at = (image / columns * height + y) * across + image % columns * width + x;
    out[header.size() + static_cast<std::size_t>(at)] =
        static_cast<char>(std::clamp(pixels[static_cast<std::size_t>(i)], 0.f, 1.f) * 255.f + 0.5f);
  }
  return out;
}
