// The `belfry` command: what it understands. Each subcommand's work is in a file of its own.
//
//   belfry ls train_log/fashion_mnist
//   belfry plot train_log/a train_log/b -o curves.svg
//   belfry data inspect 'image_folder(photos) | resize(64) | batch(32)' --sheet sheet.png
//   belfry --version
#include <functional>
#include <memory>

#include "tools/average_weights.h"
#include "tools/change_weights.h"
#include "tools/cli_main.h"
#include "tools/command_line.h"
#include "tools/completion.h"
#include "tools/diff_weights.h"
#include "tools/flow_spec.h"
#include "tools/inspect.h"
#include "tools/json_output.h"
#include "tools/list_weights.h"
#include "tools/plot.h"
#include "tools/resume.h"
#include "tools/summary.h"

namespace belfry::tools {
namespace {

// What the subcommand on the command line does; returns the exit code.
using Work = std::function<int()>;

constexpr const char* kWeightsFile =
    "a checkpoint, an exported model, a .safetensors or .npz file, a checkpoint of TensorFlow's; a directory or a "
    "saver's index: its latest checkpoint";
constexpr const char* kJson = "print one JSON document instead of text";

// A subcommand whose options are a struct with a member for each.
template <class Options>
struct Subcommand {
  CLI::App* app;
  std::shared_ptr<Options> options = std::make_shared<Options>();

  Subcommand(CLI::App& parent, const char* name, const char* purpose, const char* examples)
      : app(parent.add_subcommand(name, purpose)) {
    app->footer(std::string("Example:\n") + examples);
  }

  template <class Function>
  void does(Work& work, Function function) {
    app->callback([&work, options = options, function] {
      work = [options, function] {
        if constexpr (std::is_same_v<decltype(function(*options)), int>)
          return function(*options);
        else
          return function(*options), 0;
      };
    });
  }
};

void add_output(CLI::App* app, OutputOptions& output) {
  app->add_option("-o,--output", output.file, "the file to write: .safetensors or .npz")->type_name("FILE");
  app->add_flag("--force", output.force, "replace it if it exists");
  app->add_flag("--compress", output.compress, "make an .npz smaller, which takes longer");
  app->add_flag("--json", output.json, kJson);
}

void add_weights_commands(CLI::App& app, Work& work) {
  Subcommand<ListOptions> ls(app, "ls", "list the tensors of a file, and what numbers they hold",
                             "  belfry ls train_log/fashion_mnist --match 'conv.*/W' --sort bytes");
  ls.app->add_option("FILE", ls.options->file, kWeightsFile)->required()->type_name("");
  ls.app->add_flag("--no-stats", ls.options->no_statistics, "names, dtypes, shapes and bytes only");
  ls.app->add_option("--match", ls.options->match, "only whole names that match it")->type_name("REGEX");
  ls.app->add_option("--sort", ls.options->sort, "order of the list")->check(CLI::IsMember({"name", "bytes"}));
  ls.app->add_flag("--json", ls.options->json, kJson);
  ls.does(work, list_weights);

  Subcommand<DiffOptions> diff(app, "diff", "compare two files; exit code 0: same tensors, 1: different, 2: trouble",
                               "  belfry diff model-100.safetensors model-200.safetensors");
  diff.app->add_option("A", diff.options->first, kWeightsFile)->required()->type_name("FILE");
  diff.app->add_option("B", diff.options->second, "the other one")->required()->type_name("FILE");
  diff.app->add_flag("--json", diff.options->json, kJson);
  diff.does(work, [](const DiffOptions& options) {
    try {
      return diff_weights(options) ? 0 : 1;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      return 2;
    }
  });

  Subcommand<AverageOptions> average(app, "average", "the mean of several checkpoints",
                                     "  belfry average model-800 model-900 model-1000 -o mean.safetensors");
  average.app->add_option("FILES", average.options->inputs, kWeightsFile)->required()->type_name("");
  add_output(average.app, average.options->output);
  average.app->get_option("-o")->required();
  average.does(work, average_weights);
}

void add_changing_commands(CLI::App& app, Work& work) {
  Subcommand<ConvertOptions> convert(app, "convert", "write the tensors of a file as another format",
                                     "  belfry convert train_log/fashion_mnist weights.npz --model-only");
  convert.app->add_option("IN", convert.options->input, kWeightsFile)->required()->type_name("FILE");
  convert.app->add_option("OUT", convert.options->output.file, "the file to write: .safetensors or .npz")
      ->required()
      ->type_name("FILE");
  convert.app->add_flag("--model-only", convert.options->model_only, "without what belongs to the run");
  convert.app->add_flag("--force", convert.options->output.force, "replace OUT if it exists");
  convert.app->add_flag("--compress", convert.options->output.compress, "make an .npz smaller, which takes longer");
  convert.app->add_flag("--json", convert.options->output.json, kJson);
  convert.does(work, convert_weights);

  Subcommand<RenameOptions> rename(
      app, "rename", "give tensors other names, as sed does",
      "  belfry rename old.safetensors 's/^conv0/stem/' 's,/weights$,/W,' -o new.safetensors");
  rename.app->add_option("FILE", rename.options->input, kWeightsFile)->required()->type_name("");
  rename.app
      ->add_option("EXPRESSIONS", rename.options->expressions,
                   "s/REGEX/REPLACEMENT/, one after the other; \\1 and & work")
      ->required()
      ->type_name("s/REGEX/REPLACEMENT/");
  rename.app->add_flag("--dry-run", rename.options->dry_run, "only show the names");
  add_output(rename.app, rename.options->output);
  rename.does(work, rename_weights);

  Subcommand<DropOptions> drop(app, "drop", "leave tensors out",
                               "  belfry drop model-100.safetensors '.*/Adam.*' 'global_step' -o weights.safetensors");
  drop.app->add_option("FILE", drop.options->input, kWeightsFile)->required()->type_name("");
  drop.app
      ->add_option("EXPRESSIONS", drop.options->expressions,
                   "regular expressions; each leaves out the whole names that it matches")
      ->required()
      ->type_name("REGEX");
  drop.app->add_flag("--dry-run", drop.options->dry_run, "only show the names");
  add_output(drop.app, drop.options->output);
  drop.does(work, drop_weights);
}

void add_run_commands(CLI::App& app, Work& work) {
  Subcommand<PlotOptions> curves(app, "plot", "draw the curves of one or more runs",
                                 "  belfry plot train_log/a train_log/b --metrics 'cost|.*error' -o curves.svg");
  PlotOptions& options = *curves.options;
  curves.app->add_option("RUNS", options.runs, "directories of runs, or their stats.json")->required()->type_name("");
  curves.app->add_option("--metrics", options.metrics, "only whole names that match it")->type_name("REGEX");
  curves.app->add_option("-o,--output", options.output, "write an .svg or .png; else draw in the terminal")
      ->type_name("FILE");
  curves.app->add_option("--x", options.x, "what goes to the right")->check(CLI::IsMember({"epoch", "step"}));
  curves.app->add_flag("--log", options.logarithmic, "logarithmic, where all values are above 0");
  curves.app->add_option("--smooth", options.smoothing, "how much of each value comes from those before it: 0 to 0.999")
      ->check(CLI::Range(0.0, 0.999))
      ->type_name("WEIGHT");
  curves.app->add_flag("--ascii", options.ascii, "plain characters, as without a UTF-8 locale");
  curves.app->add_option("--width", options.width, "characters in a line, instead of the terminal's")
      ->check(CLI::Range(40, 1000))
      ->type_name("COLUMNS");
  curves.app->add_flag("--json", options.json, "print one JSON document, with all points, instead of text");
  curves.does(work, plot);

  Subcommand<SummaryOptions> summary(app, "summary", "what a run was, how far it came, and what it left",
                                     "  belfry summary train_log/fashion_mnist");
  summary.app->add_option("RUN", summary.options->run, "a run's directory")->required()->type_name("");
  summary.app->add_flag("--json", summary.options->json, kJson);
  summary.does(work, summarize);

  Subcommand<ResumeOptions> resumed(app, "resume", "print the command that continues a run, or run it",
                                    "  belfry resume train_log/fashion_mnist --run");
  resumed.app->add_option("RUN", resumed.options->run, "a run's directory")->required()->type_name("");
  CLI::Option* execute = resumed.app->add_flag("--run", resumed.options->execute, "run it");
  resumed.app->add_flag("--json", resumed.options->json, kJson)->excludes(execute);
  resumed.does(work, resume);
}

void add_data_commands(CLI::App& app, Work& work) {
  CLI::App* data = app.add_subcommand("data", "data pipelines");
  data->require_subcommand(1);
  struct WordsOptions {
    bool json = false;
  };
  Subcommand<WordsOptions> words(*data, "words", "list the sources and stages that a SPEC may name",
                                 "  belfry data words");
  words.app->add_flag("--json", words.options->json, kJson);
  words.does(work, [](const WordsOptions& options) {
    if (options.json)
      print_json({{"text", flow_spec_help()}});
    else
      fmt::print("{}", flow_spec_help());
  });

  struct LookOptions : InspectOptions {
    std::string spec{};
  };
  Subcommand<LookOptions> look(*data, "inspect",
                               "show a flow's first points, types, ranges and speed, and a sheet of its images",
                               "  belfry data inspect 'image_folder(photos) | resize(64)' --sheet sheet.png");
  LookOptions& options = *look.options;
  look.app->add_option("SPEC", options.spec, "source(arguments) | stage(arguments) | ...")->required();
  look.app->add_option("--show", options.show, "points to show one by one")->check(CLI::Range(0, 1000));
  look.app->add_option("--points", options.points, "points to read for ranges and speed")
      ->check(CLI::Range(1, 1'000'000'000));
  look.app->add_option("--sheet", options.sheet, "write the first images here, as a PNG")->type_name("FILE");
  look.app->add_option("--images", options.images, "how many")->check(CLI::Range(1, 10'000));
  look.app->add_flag("--json", options.json, kJson);
  look.does(work, [](const LookOptions& o) { inspect(flow_from_spec(o.spec), o); });
}

// "TEXT:{name,bytes}" has the choices "name" and "bytes".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

CommandShape shape_of(const CLI::App& app) {
  CommandShape out{.name = app.get_name()};
  for (const CLI::Option* option : app.get_options()) {
    CommandShape::Option shape{.takes_value = option->get_items_expected_max() > 0,
                               .value = option->get_type_name().empty() ? option->get_name() : option->get_type_name(),
                               .choices = choices_in(option->get_type_name())};
    for (const std::string& name : option->get_snames()) shape.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) shape.names.push_back("--" + name);
    out.options.push_back(std::move(shape));
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    out.subcommands.push_back(shape_of(*sub));
  return out;
}

void add_completion(CLI::App& app, Work& work) {
  struct ShellOptions {
    std::string shell{};
    bool json = false;
  };
  Subcommand<ShellOptions> completion(app, "completion", "print a script that completes this command",
                                      "  source <(belfry completion bash)");
  completion.app->add_option("SHELL", completion.options->shell, "the shell")
      ->required()
      ->check(CLI::IsMember({"bash"}));
  completion.app->add_flag("--json", completion.options->json, kJson);
  completion.does(work, [&app](const ShellOptions& options) {
    const std::string script = bash_completion(shape_of(app));
    if (!options.json) return fmt::print("{}", script);
    print_json({{"shell", options.shell}, {"script", script}});
  });
}

int main_of_belfry(int argc, char** argv) {
  CLI::App app("Belfry's command", "belfry");
  app.require_subcommand(1);
  app.set_version_flag("--version", BELFRY_VERSION, "the version, and which optional parts were built");
  Work work;
  add_weights_commands(app, work);
  add_changing_commands(app, work);
  add_run_commands(app, work);
  add_data_commands(app, work);
  add_completion(app, work);
  int code = 0;
  const int ended = main_of(app, argc, argv, [&] {
    try {
      code = work();
    } catch (const BadArgument& bad) {
      throw CLI::ValidationError(bad.name, bad.what());
    }
  });
  return ended != 0 ? ended : code;
}

}  // namespace
}  // namespace belfry::tools

int main(int argc, char** argv) { return belfry::tools::main_of_belfry(argc, argv); }
