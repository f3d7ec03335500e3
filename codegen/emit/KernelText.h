// A kernel, what the text has declared so far, and the lines that are written.
#pragma once

#include "codegen/emit/ChannelNames.h"
#include "codegen/emit/Copies.h"
#include "codegen/emit/Expressions.h"
#include "codegen/emit/Header.h"
#include "codegen/emit/KernelTraits.h"
#include "codegen/emit/NamedTensors.h"
#include "codegen/emit/TextLines.h"

namespace wkvc {

// The constants for where a buffer and the buffer's scale begin.
struct BufferPlace {
  std::string data, scale;
};

struct KernelText {
  explicit KernelText(warp::KernelOp op)
      : kernel(op), manifest(manifest_of(op)), traits(traits_of(op)), expressions(names, traits.value_row) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    lines.line(format, std::forward<Args>(args)...);
  }
  std::string expr(mlir::Value value) const { return expressions.of(value); }
  const std::string& tensor(llvm::StringRef name) { return tensors.of(name).variable; }
  std::string place_of(mlir::Value shared) const { return places.lookup(shared.getDefiningOp()).data; }
  // Return the names of the channel in whose slots a ring, buffer or floats lie, and of the one that an operation
  // names.
  const ChannelNames& names_around(mlir::Value shared) const {
    return channels.find(warp::channel_around(shared))->second;
  }
  const ChannelNames& channel_of(mlir::Operation* op) const {
    return channels.find(warp::channel_named_by(op))->second;
  }
  // Declares a variable for the value and returns its name.
  std::string declare(mlir::Value value);
  // Writes the declaration of a variable that stays as it is.
  void define(mlir::Value value, const std::string& expression);

  warp::KernelOp kernel;
  const Manifest manifest;
  const KernelTraits traits;
  Identifiers names;
  const Expressions expressions;
  NamedTensors tensors;
  llvm::DenseMap<mlir::Operation*, BufferPlace> places;
  NamesOfChannels channels;
  Copiers copiers;
  TextLines lines;
};

// Returns the name that a value's variable is to have: its own, or that of the nearest named value that the value turns
// into.
std::string wished_name(mlir::Value value);

// A block in braces, behind the line that opens the block. Names declared in the block are free again afterwards.
class Braces {
 public:
  explicit Braces(KernelText& text) : lines_(text.lines), names_(text.names) { lines_.open(); }
  Braces(const Braces&) = delete;
  Braces& operator=(const Braces&) = delete;
  ~Braces() { lines_.close(); }

 private:
  TextLines& lines_;
  NamesOfBlock names_;
};

}  // namespace wkvc
