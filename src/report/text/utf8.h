// Just enough UTF-8 to write valid text and to align columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kernbench::report {

/// The length in bytes of the well-formed UTF-8 sequence that starts at text[at], or 0 when there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

/// Columns on a terminal: two for wide characters (Hangul, Han, kana, full-width forms, emoji), none for combining
/// marks and the vowels and final consonants of decomposed Hangul, one for all others and for each byte that is not
/// UTF-8.
std::size_t display_width(std::string_view text);

/// `text` as one printable line without trailing blanks: control characters and bytes that are not UTF-8 become '?'.
std::string one_line(std::string_view text);

/// `text` shortened to at most `width` columns by replacing its middle with "..". Requires width >= 4.
std::string shortened(std::string_view text, std::size_t width);

}  // namespace kernbench::report
