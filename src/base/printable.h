// Text from anywhere, for one line of a terminal or a message.
#pragma once

#include <string>
#include <string_view>

namespace coffer {

// Columns that the text takes on a terminal: 2 for wide East Asian characters, 0 for combining
// marks. Thread-safe; linear in the text.
std::size_t display_width(std::string_view utf8);

// The same text with control characters, invisible direction marks and invalid bytes replaced by
// U+FFFD, so that it can neither move the cursor nor forge a line. Thread-safe.
std::string printable(std::string_view text);

// The same characters written as JSON writes them, "\u202e", but line ends left as they are;
// invalid bytes become \ufffd. A JSON document stays the same document, and any text stays
// readable. Thread-safe; linear in the text.
std::string escape_unprintable(std::string_view text);

// The same text with each of these written as an escape of JSON, \u202e, and with quotes and
// backslashes escaped: between quotes it is a JSON string in which nothing acts on a terminal.
// Thread-safe; linear in the text.
std::string escaped(std::string_view text);

}  // namespace coffer
