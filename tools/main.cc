// The `belfry` command.
//
//   belfry data inspect 'image_folder(photos) | resize(64) | batch(32)' --sheet sheet.png
//   belfry data words
//   belfry --version
#include "tools/cli_main.h"
#include "tools/flow_spec.h"
#include "tools/inspect.h"

namespace belfry::tools {
namespace {

int main_of_belfry(int argc, char** argv) {
  CLI::App app("Belfry's command", "belfry");
  app.require_subcommand(1);
  app.set_version_flag("--version", BELFRY_VERSION, "the version, and which optional parts were built");
  CLI::App* data = app.add_subcommand("data", "data pipelines");
  data->require_subcommand(1);

  CLI::App* words = data->add_subcommand("words", "list the sources and stages that a SPEC may name");
  CLI::App* look =
      data->add_subcommand("inspect", "show a flow's first points, types, ranges and speed, and a sheet of its images");
  std::string spec;
  InspectOptions options;
  look->add_option("SPEC", spec, "source(arguments) | stage(arguments) | ...")->required();
  look->add_option("--show", options.show, "points to show one by one")->check(CLI::Range(0, 1000));
  look->add_option("--points", options.points, "points to read for ranges and speed")
      ->check(CLI::Range(1, 1'000'000'000));
  look->add_option("--sheet", options.sheet, "write the first images here, as a PNG");
  look->add_option("--images", options.images, "how many")->check(CLI::Range(1, 10'000));

  return main_of(app, argc, argv, [&] {
    if (words->parsed()) fmt::print("{}", flow_spec_help());
    if (look->parsed()) inspect(flow_from_spec(spec), options);
  });
}

}  // namespace
}  // namespace belfry::tools

int main(int argc, char** argv) { return belfry::tools::main_of_belfry(argc, argv); }
