// A data pipeline without training: image files, augmented by threads, in batches; a saved position; a contact sheet.
#include <belfry/base/progress_line.h>
#include <belfry/belfry.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "tools/command_line.h"
#include "tools/scratch_directory.h"

namespace bf = belfry;
namespace fs = std::filesystem;

struct Options {
  std::string folder{};  // empty: a temporary one
  std::string sheet = "data_pipeline.png";
  int images = 60, batch = 8, threads = 2, epochs = 2;
};

// A disc or a square of some colour on a darker ground.
bf::Array picture(bool disc, bf::RandomStream& random) {
  const int height = 48 + static_cast<int>(random.below(32)), width = 48 + static_cast<int>(random.below(32));
  const double radius = 12 + 8 * random.uniform(), x0 = width / 2.0, y0 = height / 2.0;
  const double colour[] = {80 + 175 * random.uniform(), 80 + 175 * random.uniform(), 80 + 175 * random.uniform()};
  bf::Array image(bf::u8, {height, width, 3});
  auto pixel = image.values<std::uint8_t>().begin();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double dx = x - x0, dy = y - y0;
      const bool inside = disc ? dx * dx + dy * dy < radius * radius : std::max(std::abs(dx), std::abs(dy)) < radius;
      for (double c : colour) *pixel++ = static_cast<std::uint8_t>(inside ? c : c / 4);
    }
  return image;
}

// directory/disc/0.jpg, directory/square/1.jpg, directory/disc/2.jpg, ...
void draw_pictures(const std::string& directory, int count) {
  const char* const classes[] = {"disc", "square"};
  for (const char* name : classes) fs::create_directories(fs::path(directory) / name);
  bf::RandomStream random(1);
  for (int i = 0; i < count; ++i)
    bf::write_image(fmt::format("{}/{}/{:05}.jpg", directory, classes[i % 2], i), picture(i % 2 == 0, random));
}

bf::Flow pipeline(const std::string& directory, const Options& options) {
  const bf::Augmentor augmentor =
      bf::random_resized_crop(40, {.scale = {0.5, 1}}) | bf::flip_horizontal() | bf::color_jitter({.brightness = 0.3});
  return bf::image_folder(directory) | bf::shuffle(7) |
         bf::augment_images(augmentor, {.seed = 1, .threads = options.threads}) | bf::batch(options.batch);
}

// Reads the remaining epochs and sums up all bytes, in place of training.
double read_on(bf::Flow flow, int epochs) {
  bf::ProgressLine line(stderr, {});
  const double start = bf::monotonic_seconds();
  const std::int64_t total = epochs * flow.known_size();
  std::int64_t done = static_cast<std::int64_t>(flow.epoch()) * flow.known_size();
  double sum = 0;
  while (static_cast<std::int64_t>(flow.epoch()) < epochs) {
    while (const std::optional<bf::DataPoint> point = flow.next()) {
      for (std::uint8_t value : (*point)[0].values<std::uint8_t>()) sum += value;
      ++done;
      if (line.due())
        line.draw(bf::progress_text(
            {.done = done, .total = total, .seconds = bf::monotonic_seconds() - start, .unit = "batches"}));
    }
    flow.start_epoch(flow.epoch() + 1);
  }
  line.clear();
  return sum;
}

// Writes the images of a batch with the names of their classes below; returns how many.
std::size_t draw_sheet(const bf::DataPoint& batch, const std::vector<std::string>& classes, const std::string& path) {
  std::vector<std::string> labels;
  for (const std::int32_t label : batch[1].values<std::int32_t>())
    labels.push_back(classes.at(static_cast<std::size_t>(label)));
  bf::write_png(path, bf::image_sheet(bf::rows_of(batch[0]), {.labels = labels}));
  return labels.size();
}

void run(const Options& options) {
  std::optional<bf::tools::ScratchDirectory> temporary;
  if (options.folder.empty()) temporary.emplace();
  const std::string directory = temporary ? temporary->path() : options.folder;
  draw_pictures(directory, options.images);

  bf::Flow flow = pipeline(directory, options);
  const std::optional<bf::DataPoint> first = flow.next();
  if (!first) throw bf::Error("[data_pipeline] expected at least one batch. Use more --images or a smaller --batch.");
  const std::string position = to_string(flow.state());  // what a checkpoint would keep: after the first batch
  const double rest = read_on(flow, options.epochs);

  bf::Flow again = pipeline(directory, options);  // as a new process would build it
  again.restore(bf::flow_state_from_string(position));
  const bool same = read_on(again, options.epochs) == rest;

  const std::size_t images = draw_sheet(*first, bf::image_folder_classes(directory), options.sheet);
  fmt::print("{} batches of {} per epoch\n", flow.known_size(), to_string((*first)[0].shape()));
  fmt::print("restored after the first batch: the rest is {}\n", same ? "the same" : "DIFFERENT");
  fmt::print("{}: {} images\n", options.sheet, images);
  if (!same) throw bf::Error("[data_pipeline] expected the same points after restore().");
}

int main(int argc, char** argv) {
  Options options;
  belfry::tools::CommandLine command("Reads, augments and batches image files; trains nothing", "data_pipeline");
  command.text("--folder", options.folder, "keep the generated pictures here; by default they are removed");
  command.text("--sheet", options.sheet, "a PNG of the first batch");
  command.number("--images", options.images, {2, 100'000}, "to generate");
  command.number("--batch", options.batch, {1, 100'000});
  command.number("--threads", options.threads, {0, 1000});
  command.number("--epochs", options.epochs, {1, 1'000'000});
  return command.run(argc, argv, [&] { run(options); });
}
