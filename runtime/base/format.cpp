// The part of fmt that is no template, compiled once. As a header alone it would be compiled with every source, at a
// few seconds each, and as a shared library it would have to be on every machine that kernels are taken to.
#include <fmt/format-inl.h>

// Explicit instantiations of what fmt/format.h declares and leaves to the library.
template auto fmt::detail::dragonbox::to_decimal(float x) noexcept -> fmt::detail::dragonbox::decimal_fp<float>;
template auto fmt::detail::dragonbox::to_decimal(double x) noexcept -> fmt::detail::dragonbox::decimal_fp<double>;
template fmt::detail::locale_ref::locale_ref(const std::locale& locale);
template auto fmt::detail::locale_ref::get<std::locale>() const -> std::locale;
template auto fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref) -> fmt::detail::thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref) -> char;
