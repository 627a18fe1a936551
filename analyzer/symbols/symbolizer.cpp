// Purpose: names sites. Lazy: looks up only what is printed.
#include "analyzer/symbols/symbolizer.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/frameworks/function_names.h"
#include "analyzer/symbols/demangle.h"

namespace memtrace::symbols {
namespace {

using format::high;
using format::low;

constexpr std::string_view kImporter = "<frozen importlib";

// True for Python code between the user's line and the work. Without this test, it would name every gradient
// and every import.
bool passage(std::string_view file) {
  return file.starts_with(kImporter) || frameworks::starts_backward(file);
}

// True for functions that every allocation goes through, so their names say nothing.
bool plumbing(std::string_view function) {
  static constexpr const char* kPrefixes[] = {"operator new",
                                              "malloc",
                                              "calloc",
                                              "realloc",
                                              "posix_memalign",
                                              "aligned_alloc",
                                              "memtrace",
                                              "mmap",
                                              "__libc_",
                                              "std::",
                                              "void* std::",
                                              "__gnu_cxx::",
                                              "__sanitizer",
                                              "__asan",
                                              "__lsan",
                                              "__msan",
                                              "__tsan",
                                              "__interceptor_",
                                              "void* mmap_interceptor"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](const char* prefix) { return function.rfind(prefix, 0) == 0; }) ||
         frameworks::allocates_for_all(function);
}

std::string hash_of(const Site& site, const std::string& working_directory) {
  std::uint64_t hash = 0xCBF29CE484222325u; // FNV-1a
  const auto mix = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    hash = (hash ^ 0xFF) * 0x100000001B3u;
  };
  for (const SiteFrame& frame : site.frames) {
    if (frame.inlined) continue; // one build has debug information, the next one may not
    mix(frame.function);
    if (frame.python) mix(fmt::format("{}:{}", short_path(frame.file, working_directory), frame.line));
  }
  return fmt::format("{:016x}", hash);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The innermost Python frames of a stack by type; nullptr if there is none.
struct PythonFrames {
  const SiteFrame* innermost = nullptr;
  const SiteFrame* telling = nullptr; // not in a wrapper, see passage()
  const SiteFrame* own = nullptr;     // the user's
  const SiteFrame* pass = nullptr;    // the user's, and outside of all calls of modules
};

PythonFrames python_frames(const std::vector<SiteFrame>& frames) {
  PythonFrames out;
  bool in_module = false;
  for (const SiteFrame& frame : frames) {
    if (!frame.python) continue;
    if (out.innermost == nullptr) out.innermost = &frame;
    if (out.telling == nullptr && !passage(frame.file)) out.telling = &frame;
    if (frameworks::calls_module(frame.file)) {
      in_module = true;
      out.pass = nullptr; // that was inside a forward
    }
    if (!frame.own) continue;
    if (out.own == nullptr) out.own = &frame;
    if (in_module && out.pass == nullptr) out.pass = &frame;
  }
  return out;
}

// What a line made Python import: the first module that ran code, or nullptr if that was not Python code.
struct Import {
  const SiteFrame* module = nullptr;
};

// Returns the import that the line `own` caused, or nullopt if the block is of no import. Modules import
// others: the outermost is the one that the line caused.
std::optional<Import> import_below(const std::vector<SiteFrame>& frames, const SiteFrame* own) {
  std::optional<Import> out;
  const SiteFrame* outer = nullptr;
  for (const SiteFrame& frame : frames) { // the innermost first
    if (&frame == own) break;
    if (!frame.python) continue;
    const bool importer = frame.file.starts_with(kImporter);
    if (importer && (outer == nullptr || !outer->file.starts_with(kImporter))) out = Import{outer};
    outer = &frame;
  }
  return out;
}

// Returns "torch" for "torch/_dynamo/utils.py:12" and "os" for "<frozen os>:96".
std::string package_of(std::string_view place) {
  constexpr std::string_view kFrozen = "<frozen ";
  if (place.starts_with(kFrozen)) place.remove_prefix(kFrozen.size());
  return std::string(place.substr(0, place.find_first_of("/.>:")));
}

constexpr std::string_view kBackwardOf = "(backward of this forward call)";

// Returns the operator of PyTorch that the program called, or "" if there is none. Operators call each other.
// This is the one that the innermost Python frame called. In backward, it is that of the forward call.
std::string called_operator(const std::vector<SiteFrame>& frames) {
  std::string out;
  bool backward = false;
  for (const SiteFrame& frame : frames) {
    if (frame.python) break;
    if (frame.function == kBackwardOf) {
      backward = true;
      out.clear();
    }
    if (const std::string name = frameworks::operator_of(frame.function); !name.empty()) out = "torch." + name;
  }
  return !backward ? out : out.empty() ? "backward" : "backward of " + out;
}

// Returns "fill at src/load.cpp:49" if the line is known, else "fill in load.so".
std::string native_place(const std::vector<SiteFrame>& frames, const std::string& working_directory) {
  if (frames.empty()) return "unknown";
  const auto telling =
      std::find_if(frames.begin(), frames.end(), [](const SiteFrame& frame) { return !is_plumbing(frame); });
  const SiteFrame& frame = telling != frames.end() ? *telling : frames.front();
  std::string out(without_parameters(frame.function));
  if (frame.line != 0)
    return out + fmt::format(" at {}:{}", short_path(frame.file, working_directory), frame.line);
  if (!frame.module.empty()) out += fmt::format(" in {}", base_name(frame.module));
  return out;
}

} // namespace

bool is_plumbing(const SiteFrame& frame) {
  return plumbing(frame.function) || frame.file.find("/include/c++/") != std::string_view::npos;
}

std::shared_ptr<const Site> keep(const Site& site) {
  struct KeptSite {
    Site site;
    std::vector<std::string> names;
  };
  auto kept = std::make_shared<KeptSite>();
  kept->site = site;
  kept->names.reserve(3 * site.frames.size()); // capacity for all, so views into it stay valid
  for (SiteFrame& frame : kept->site.frames)
    for (std::string_view* name : {&frame.function, &frame.file, &frame.module})
      *name = kept->names.emplace_back(*name);
  return {kept, &kept->site};
}

std::string short_path(std::string_view path, std::string_view working_directory) {
  for (const char* packages : {"site-packages/", "dist-packages/"}) {
    const std::size_t at = path.rfind(packages);
    if (at != std::string_view::npos)
      return std::string(path.substr(at + std::char_traits<char>::length(packages)));
  }
  if (const std::size_t library = path.find("/lib/python"); library != std::string_view::npos) {
    const std::size_t at = path.find('/', library + 5);
    if (at != std::string_view::npos) return std::string(path.substr(at + 1));
  }
  const std::size_t length = working_directory.size();
  if (length > 1 && path.size() > length + 1 && path.compare(0, length, working_directory) == 0 &&
      path[length] == '/') {
    return std::string(path.substr(length + 1));
  }
  // Elsewhere: the file and its folder, which distinguish two files of the same name.
  const std::size_t name = path.rfind('/');
  if (name == std::string_view::npos || name == 0) return std::string(path);
  const std::size_t folder = path.rfind('/', name - 1);
  return std::string(folder == std::string_view::npos ? path : path.substr(folder + 1));
}

const std::vector<SourceFrame>& Symbolizer::look_up(const trace::Module& module, std::uint64_t address) {
  return code_->at(definitions_.text(module.path), module.build_id, address - module.bias);
}

std::string Symbolizer::filled_by(std::string_view file, std::uint32_t line) {
  return stored_ ? stored_->filled_by(file, line) : inductor_.filled_by(file, line);
}

// A return address is after the call. The call itself, one byte before, is inside the function.
void Symbolizer::add_native(std::uint64_t return_address, std::vector<SiteFrame>& out) {
  const std::uint64_t address = return_address - 1;
  const trace::Module* const module = modules_.at(address);
  if (module == nullptr) {
    out.emplace_back().function = keep_name(fmt::format("{:#x}", address));
    return;
  }
  std::vector<SourceFrame> source;
  if (!stored_) source = look_up(*module, address);
  if (stored_)
    if (const std::vector<SourceFrame>* const known = stored_->at(return_address)) source = *known;
  if (source.empty()) source.emplace_back();
  for (std::size_t i = 0; i < source.size(); ++i) {
    SiteFrame& frame = out.emplace_back();
    frame.module = definitions_.text(module->path);
    frame.inlined = i + 1 < source.size();
    frame.function = source[i].function.empty() && !frame.inlined
                         ? keep_name(fmt::format("{}+{:#x}", base_name(frame.module), address - module->bias))
                         : keep_name(std::move(source[i].function));
    frame.file = keep_name(std::move(source[i].file));
    frame.line = source[i].line;
  }
}

StoredNames Symbolizer::names_to_store() {
  StoredNames out;
  for (const auto& [id, node] : definitions_.nodes()) {
    if (node.frame.python) {
      const SiteFrame frame = python(node.frame.value);
      if (!InductorCode::is_generated(frame.file)) continue;
      const std::string operators = filled_by(frame.file, frame.line);
      if (!operators.empty()) out.compiled[{std::string(frame.file), frame.line}] = operators;
    } else if (!trace::is_forward_call(node.frame) && !out.natives.contains(node.frame.value)) {
      const trace::Module* const module = modules_.at(node.frame.value - 1);
      if (module == nullptr) continue;
      const std::vector<SourceFrame>* const known = stored_ ? stored_->at(node.frame.value) : nullptr;
      if (known != nullptr) out.natives[node.frame.value] = *known;
      if (!stored_) out.natives[node.frame.value] = look_up(*module, node.frame.value - 1);
    }
  }
  return out;
}

const std::vector<SiteFrame>& Symbolizer::native(std::uint64_t return_address) {
  const auto [at, fresh] = natives_.try_emplace(return_address);
  if (fresh) add_native(return_address, at->second);
  return at->second;
}

SiteFrame Symbolizer::python(std::uint64_t value) {
  SiteFrame frame;
  frame.python = true;
  frame.line = high(value);
  const trace::Code* code = definitions_.code(format::CodeId{low(value)});
  if (code == nullptr) {
    frame.function = keep_name(fmt::format("code#{}?", low(value)));
    return frame;
  }
  frame.function = definitions_.text(code->function);
  frame.file = definitions_.text(code->file);
  frame.own = !libraries_.holds(frame.file);
  return frame;
}

std::string Symbolizer::shown_path(const SiteFrame& frame) const {
  std::string path(libraries_.below(frame.file));
  if (path.empty()) path = short_path(frame.file, facts_.working_directory);
  if (frame.file == libraries_.main_script()) path = path.substr(path.rfind('/') + 1);
  return path;
}

void Symbolizer::describe(Site& site) {
  const auto place = [this](const SiteFrame& frame) {
    return fmt::format("{}:{}", shown_path(frame), frame.line);
  };
  site.op = called_operator(site.frames);
  const PythonFrames python = python_frames(site.frames);
  if (python.innermost == nullptr) {
    site.where = native_place(site.frames, facts_.working_directory);
    return;
  }
  site.where = place(python.telling != nullptr ? *python.telling : *python.innermost);
  if (python.own != nullptr) site.own_line = place(*python.own);
  if (const auto import = python.own == nullptr ? std::nullopt : import_below(site.frames, python.own))
    site.import = import->module == nullptr ? "import" : "import of " + package_of(place(*import->module));
  if (python.pass != nullptr) site.pass_line = place(*python.pass);
  const std::string compiled = filled_by(python.innermost->file, python.innermost->line);
  if (!compiled.empty() && python.own != nullptr) { // the generated file's name is a hash
    site.op = "compiled " + compiled;
    site.where = site.own_line;
  }
  if (site.own_line != site.where) site.caller = site.own_line;
}

std::span<const SiteFrame> frames_of_allocation(const Site& site) {
  const auto end = std::find_if(site.frames.begin(), site.frames.end(),
                                [](const SiteFrame& frame) { return frame.function == kBackwardOf; });
  return {site.frames.begin(), end};
}

const Site& Symbolizer::site(format::StackId stack) {
  auto& slot = sites_[static_cast<std::uint32_t>(stack)];
  if (slot) return *slot;
  slot = std::make_unique<Site>();
  for (const trace::Frame& frame : definitions_.frames(stack)) {
    if (frame.python) {
      slot->frames.push_back(python(frame.value));
    } else if (trace::is_forward_call(frame)) {
      slot->frames.emplace_back().function = kBackwardOf;
    } else {
      const std::vector<SiteFrame>& at = native(frame.value);
      slot->frames.insert(slot->frames.end(), at.begin(), at.end());
    }
  }
  describe(*slot);
  slot->id = hash_of(*slot, facts_.working_directory);
  return *slot;
}

} // namespace memtrace::symbols
