// A sheet of generated images, each epoch from the same numbers: what the generator has learned, to look at.
#pragma once

#include <belfry/belfry.h>

class SampleSheet final : public belfry::Callback {
 public:
  explicit SampleSheet(std::uint64_t seed);

  void setup_graph() override;  // the predictor's tower is built here
  void trigger() override;      // <run_dir>/epoch-<number>.pgm
  std::vector<belfry::Written> writes() const override { return {{trainer().run_dir(), {"epoch-*.pgm"}}}; }

 private:
  belfry::Array z_;
  belfry::OnlinePredictor generate_;
};

// Images [count, height, width, 1] in [0, 1], `columns` in a row, as a PGM file (grey, 8 bits a pixel).
std::string pgm_sheet(const belfry::Array& images, int columns);
