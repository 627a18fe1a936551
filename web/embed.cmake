# Writes the script and the style of the page as C++: cmake -DSCRIPT=FILE -DSTYLE=FILE -DOUT=FILE -P embed.cmake
# Without SCRIPT, the build has no page.

function(embed name file)
  if(file)
    file(READ ${file} hex HEX)
    file(SHA256 ${file} hash)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  endif()
  set(text "${text}const unsigned char k${name}Bytes[] = {${bytes}0};\n" PARENT_SCOPE)
  set(files "${files}const PageAsset k${name}{{reinterpret_cast<const char*>(k${name}Bytes), sizeof k${name}Bytes - 1}, \"${hash}\"};\n" PARENT_SCOPE)
endfunction()

embed(PageScript "${SCRIPT}")
embed(PageStyle "${STYLE}")
file(WRITE ${OUT} "#include \"analyzer/page/page_assets.h\"\n\nnamespace memtrace::report {\nnamespace {\n${text}} // namespace\n${files}} // namespace memtrace::report\n")
