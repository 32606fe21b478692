# Source it: write_split makes small files in the format of MNIST.

# ten_images: one of each class, 28 x 28. That of class c is black, but for two white lines: 2 c + 4 and the next.
ten_images() {
  local c
  for c in 0 1 2 3 4 5 6 7 8 9; do
    head -c $(((2 * c + 4) * 28)) /dev/zero
    head -c $((2 * 28)) /dev/zero | tr '\0' '\377'
    head -c $(((28 - 2 * c - 6) * 28)) /dev/zero
  done
}

# write_split FOLDER PREFIX COUNT: that many images (COUNT is below 256 and a multiple of 10), and their labels.
write_split() {
  local count i
  count=$(printf '\\x%02x' "$3")
  {
    printf "\\x00\\x00\\x08\\x03\\x00\\x00\\x00$count\\x00\\x00\\x00\\x1c\\x00\\x00\\x00\\x1c"
    for ((i = 0; i < $3 / 10; ++i)); do ten_images; done
  } >"$1/$2-images-idx3-ubyte"
  {
    printf "\\x00\\x00\\x08\\x01\\x00\\x00\\x00$count"
    for ((i = 0; i < $3 / 10; ++i)); do printf '\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09'; done
  } >"$1/$2-labels-idx1-ubyte"
}
