#include "belfry/base/check.h"
#include "belfry/dataflow/sources/cifar.h"
#include "belfry/dataflow/sources/fake.h"
#include "belfry/dataflow/sources/mnist.h"
#include "belfry/dataflow/sources/npz.h"
#include "belfry/dataflow/sources/svmlight.h"
#include "belfry/dataflow/sources/text.h"
#include "belfry/dataflow/sources/tfrecord.h"
#include "belfry/dataflow/vocabulary.h"
#include "tools/flow_words.h"
#ifdef BELFRY_TOOLS_IMAGES
#include "belfry/dataflow/image/codecs/image_folder.h"
#endif
#ifdef BELFRY_TOOLS_LMDB
#include "belfry/dataflow/lmdb/lmdb_flow.h"
#endif

namespace belfry::tools {
namespace {

Flow text_flow(Call& call) {
  const std::string path = call.text("path");
  const std::string unit = call.text_or("unit", "words");
  BELFRY_CHECK(unit == "words" || unit == "characters", "[text] expected words or characters for unit, got '{}'.",
               unit);
  const auto length = call.whole_or("length", 32);
  return from_text(path, {.vocabulary = Vocabulary::from_files(
                              {path}, {.unit = unit == "words" ? TextUnit::words : TextUnit::characters}),
                          .sequence_length = length});
}

Flow fake_images(Call& call) {
  const auto side = call.whole_or("side", 32), classes = call.whole_or("classes", 10);
  const auto size = call.whole_or("size", 1000);
  return fake_data({{.shape = {side, side, 3}}, {.dtype = i32, .high = static_cast<double>(classes)}}, {.size = size});
}

template <class Options>
Options shuffled(Call& call) {
  Options options;
  options.shuffle = call.flag("shuffle");
  return options;
}

#ifdef BELFRY_TOOLS_IMAGES
ImageSourceOptions image_options(Call& call) {
  const bool decode = call.flag_or("decode", true);
  return {.decode = decode, .strict = call.flag_or("strict", false)};
}
#endif

}  // namespace

const std::vector<SourceWord>& source_words() {
  static const std::vector<SourceWord> words{
      {{"fashion_mnist"},
       "fashion_mnist(split=train)",
       "from where Debian's package puts it, or $BELFRY_DATA_DIR",
       [](Call& c) {
         const std::string split = c.text_or("split", "train");
         return fashion_mnist(split, shuffled<MnistOptions>(c));
       }},
      {{"mnist"},
       "mnist(directory, split=train)",
       "idx files, plain or gzipped",
       [](Call& c) {
         const std::string directory = c.text("directory");
         const std::string split = c.text_or("split", "train");
         return mnist(directory, split, shuffled<MnistOptions>(c));
       }},
      {{"cifar10"},
       "cifar10(directory, split=train)",
       "the binary version",
       [](Call& c) {
         const std::string directory = c.text("directory");
         const std::string split = c.text_or("split", "train");
         return cifar10(directory, split, shuffled<Cifar10Options>(c));
       }},
      {{"cifar100"},
       "cifar100(directory, split=train)",
       "the binary version, fine labels",
       [](Call& c) {
         const std::string directory = c.text("directory");
         const std::string split = c.text_or("split", "train");
         return cifar100(directory, split, shuffled<Cifar100Options>(c));
       }},
#ifdef BELFRY_TOOLS_IMAGES
      {{"image_folder"},
       "image_folder(directory, decode=true, strict=false)",
       "a folder of images for each class; strict: a JPEG that is damaged inside is an error",
       [](Call& c) {
         const std::string directory = c.text("directory");
         return image_folder(directory, image_options(c));
       }},
      {{"image_files"},
       "image_files(path;path, decode=true, strict=false)",
       "one or several images",
       [](Call& c) {
         const std::vector<std::string> paths = c.texts("path");
         return image_files(paths, image_options(c));
       }},
#endif
#ifdef BELFRY_TOOLS_LMDB
      {{"lmdb", "from_lmdb"},
       "lmdb(path)",
       "points of write_lmdb()",
       [](Call& c) { return from_lmdb(c.text("path")); }},
      {{"lmdb_bytes", "from_lmdb_bytes"},
       "lmdb_bytes(path)",
       "keys and values of any LMDB database",
       [](Call& c) { return from_lmdb_bytes(c.text("path")); }},
#endif
      {{"tfrecord", "from_tfrecord"},
       "tfrecord(path, decode=false, features=image;label)",
       "records as bytes; decode: points of write_tfrecord(); features: those of Examples",
       [](Call& c) {
         const std::string path = c.text("path");
         const bool decode = c.flag_or("decode", false);
         return from_tfrecord(path, {.decode = decode, .features = c.texts_or("features", {})});
       }},
      {{"npz", "from_npz"}, "npz(path)", "rows of NumPy's arrays", [](Call& c) { return from_npz(c.text("path")); }},
      {{"svmlight", "from_svmlight"},
       "svmlight(path, zero_based=false)",
       "SVMLight's and LIBSVM's text",
       [](Call& c) {
         const std::string path = c.text("path");
         return from_svmlight(path, {.zero_based = c.flag_or("zero_based", false)});
       }},
      {{"text", "from_text"}, "text(path, unit=words, length=32)", "words or characters of a text, as ids", text_flow},
      {{"fake", "fake_data"}, "fake(side=32, classes=10, size=1000)", "made-up images with labels", fake_images},
  };
  return words;
}

}  // namespace belfry::tools
