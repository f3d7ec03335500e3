// What commands read from and write to in place of files: pipes, and the standard input and output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wkvc {

// To the standard output, or to the standard error where `output` is the standard output: results are by themselves.
void print_beside(const std::string& output, const std::string& text);

// Throws UserError where `output` is the standard output and that is a terminal; `what` begins the message: "a cubin
// is".
void expect_no_terminal(const std::string& output, std::string_view what);

// Throws UserError for "-" or a pipe where files are written to a folder.
void expect_folder(const std::string& output);

// Throws UserError for "-" or a pipe where `why` a file is needed; `option` names the file.
void expect_file(std::string_view option, const std::string& path, std::string_view why);

// Throws UserError where both, a text and tensors, are to come from the standard input.
void expect_one_reader(const std::optional<std::string>& source, const std::optional<std::string>& input);

}  // namespace wkvc
