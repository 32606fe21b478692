// Sources of image files. Files are read when a point is asked for, so that shuffle() moves no pictures and a map()
// with threads, decode_images() or augment_images() after it reads and decodes in its threads.
//
//   image_folder("photos/train") | shuffle() | augment_images(..., {.threads = 8}) | batch(64)
#pragma once

#include <string>
#include <vector>

#include "belfry/dataflow/flow.h"
#include "belfry/dataflow/image/codecs/decode.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ImageSourceOptions {
  bool decode = true;  // else the image is the bytes of its file, u8 [n], for decode_images()
  ImageChannels channels = ImageChannels::rgb;
  bool orient = true;   // as in DecodeOptions
  bool strict = false;  // as in DecodeOptions
};

// Points {image}, in the order of the paths. A file that cannot be read or decoded is an error, which names it. So are
// errors of decode_images(), augment_images() and map() after it: an image knows the file that it comes from.
Flow image_files(std::vector<std::string> paths, ImageSourceOptions options = {});

// Points {image, label i32 []}: a folder for each class, with its .jpg, .jpeg, .png and .webp files, also in folders
// below. (Also its .bmp files, which are an error when they are read: nothing decodes them.) Classes, and the files of
// each, are in the order of their names; what starts with a dot is left out. A directory without classes, or a class
// without images, is an error.
Flow image_folder(const std::string& directory, ImageSourceOptions options = {});

// The names of the classes: that of label i is [i].
std::vector<std::string> image_folder_classes(const std::string& directory);

}  // namespace belfry
#pragma GCC visibility pop
