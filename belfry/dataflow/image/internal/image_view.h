// ImageView: the picture that goes from step to step of an augmentation.
//
// It points into an array's memory instead of copying it; a crop only moves its corner, and a mirror image is only
// noted, until a step needs the pixels in place. So crop, flip and normalize are one pass over the pixels.
#pragma once

#include <cstddef>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

// A part of a picture, in pixels.
struct ImagePart {
  int x = 0, y = 0, width = 0, height = 0;
};

class ImageView {
 public:
  // Throws "[where] ..." unless the array is an image: [height, width, 1 to 4 channels], u8 or f32, with pixels.
  static ImageView of_image(Array image, const char* where);
  // A mask may be i32, too, and have no axis of channels.
  static ImageView of_mask(Array mask, const char* where);

  int height() const { return height_; }
  int width() const { return width_; }
  int channels() const { return channels_; }
  DType dtype() const { return array_.dtype(); }
  std::size_t pixel_bytes() const { return pixel_bytes_; }
  std::size_t row_bytes() const { return pixel_bytes_ * static_cast<std::size_t>(width_); }
  std::size_t step() const { return step_; }  // bytes from a row to the next

  void crop(const ImagePart& part);  // must lie inside
  void flip(bool horizontal, bool vertical);

  // A row as it lies in memory, where columns and rows may be meant in reverse.
  const std::byte* stored_row(int y) const { return data_ + step_ * static_cast<std::size_t>(y); }
  bool reversed_columns() const { return reversed_columns_; }
  bool reversed_rows() const { return reversed_rows_; }
  // Puts the pixels in place: stored_row(y) is row y.
  void settle();
  // The same, and the pixels may be changed: they are copied if somebody else can see them. Returns the first row.
  std::byte* own();

  // What a step made takes the place of the picture: [height, width, channels], which nobody else sees.
  void replace(Array made);

  // The picture as an array, without a copy where its memory is dense.
  Array to_array() const;

 private:
  explicit ImageView(Array array);

  Array array_;  // what data_ points into
  std::byte* data_ = nullptr;
  std::size_t step_ = 0, pixel_bytes_ = 0;
  int height_ = 0, width_ = 0, channels_ = 1;
  bool own_ = false;
  bool reversed_columns_ = false, reversed_rows_ = false;
  bool no_channels_ = false;  // a mask of rank 2
};

// Throws unless ImageView::of_image() takes it.
void check_image(const Array& image, const char* where);

}  // namespace belfry
#pragma GCC visibility pop
