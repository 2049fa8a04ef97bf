# cmake -D IN=file -D OUT=file.cpp -D NAME=kName -P embed.cmake
# Writes a C++ file that holds the bytes of IN as coffer::api::NAME and their number as NAMESize.
file(READ ${IN} hex HEX)
file(SIZE ${IN} size)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "((0x..,){20})" "\\1\n" bytes "${bytes}")
get_filename_component(file ${IN} NAME)
file(WRITE ${OUT} "// Made from ${file}; do not edit.
#include <cstddef>

namespace coffer::api {
extern const unsigned char ${NAME}[];
extern const std::size_t ${NAME}Size;
const unsigned char ${NAME}[] = {
${bytes}
};
const std::size_t ${NAME}Size = ${size};
}  // namespace coffer::api
")
