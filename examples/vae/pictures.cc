#include "examples/vae/pictures.h"

#include <fmt/format.h>

#include "examples/vae/vae.h"

namespace bf = belfry;

namespace {

constexpr std::int64_t kSamples = 64;

}  // namespace

Pictures::Pictures(bf::Array originals, std::uint64_t seed)
    : originals_(std::move(originals)), z_(bf::f32, {kSamples, VAE::kLatent}) {
  bf::RandomStream random(seed);
  for (float& z : z_.values<float>()) z = static_cast<float>(random.normal());
}

void Pictures::setup_graph() {
  bf::InferenceTowers& towers = trainer().inference_towers();
  encode_ = towers.get_predictor({"image"}, {"mean"});
  decode_ = towers.get_predictor({"z"}, {"decoded"});
}

void Pictures::trigger() {
  const auto path = [&](const char* what) {
    return fmt::format("{}/{}-{:03}.png", trainer().run_dir(), what, trainer().epoch_num());
  };
  const bf::Array samples = decode_({z_})[0], decoded = decode_({encode_({originals_})[0]})[0];
  bf::write_png(path("samples"), bf::image_sheet(bf::rows_of(samples), {.scale = 2}));

  const std::vector<bf::Array> before = bf::rows_of(originals_), after = bf::rows_of(decoded);
  std::vector<bf::Array> pairs;
  for (std::size_t i = 0; i < before.size(); ++i) pairs.insert(pairs.end(), {before[i], after[i]});
  bf::write_png(path("reconstructions"), bf::image_sheet(pairs, {.scale = 2}));
  bf::log_info(fmt::format("Images are in {} and {}", path("samples"), path("reconstructions")));
}
