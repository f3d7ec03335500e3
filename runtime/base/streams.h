// What is no file but has bytes from a beginning to an end: pipes, and the standard input and output.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace wkvc {

// Returns whether the bytes come once and in order: of "-", the standard input, or of a FIFO, such as <(command).
bool is_pipe(const std::filesystem::path& path);

// Returns whether what is written takes the place of no file: to "-", the standard output, a FIFO, a device such as
// /dev/null, or what a program has open, such as /dev/stdout.
bool is_sink(const std::filesystem::path& path);

bool is_standard_output(const std::filesystem::path& path);

// Returns what messages call a path that is read: "<stdin>" for "-".
std::string name_of_input(const std::filesystem::path& path);

// Returns the bytes of a pipe up to its end, or the first `most` and some behind. Throws UserError.
std::string read_pipe(const std::filesystem::path& path, std::size_t most);

// Writes the pieces one after another to a sink, or as write_file_atomically does. Throws UserError.
void write_output(const std::filesystem::path& path, std::span<const std::string_view> pieces);

}  // namespace wkvc
