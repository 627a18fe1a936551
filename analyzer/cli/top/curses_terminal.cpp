// Purpose: the terminal of `memtrace top`, by ncurses.
#define NCURSES_NOMACROS 1
#include <ncurses.h>
#include <term.h>
#undef lines
#undef columns

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "analyzer/cli/top/terminal.h"

namespace memtrace::cli {
namespace {

volatile sig_atomic_t asked_to_end = 0;

void note_signal(int number) {
  asked_to_end = number;
}

// The colours of styles. 0: the terminal's own.
enum Pair : short { kWarning = 1, kAlarm = 2 };

class CursesTerminal : public Terminal {
 public:
  explicit CursesTerminal(SCREEN* screen) : screen_(screen) {
    ::cbreak();
    ::noecho();
    ::nonl();
    ::keypad(stdscr, TRUE);
    ::curs_set(0);
    set_escdelay(50);
    colored_ = ::has_colors() && std::getenv("NO_COLOR") == nullptr && ::start_color() == OK;
    if (colored_) {
      const short background = ::use_default_colors() == OK ? -1 : COLOR_BLACK;
      ::init_pair(kWarning, COLOR_YELLOW, background);
      ::init_pair(kAlarm, COLOR_RED, background);
    }
    // ncurses ends the program at these signals by itself, and its status would not tell the signal.
    struct sigaction action {};
    action.sa_handler = note_signal;
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaction(number, &action, nullptr);
  }
  ~CursesTerminal() override {
    ::erase();
    ::refresh();
    ::endwin();
    ::delscreen(screen_);
  }

  std::size_t columns() const override { return static_cast<std::size_t>(getmaxx(stdscr)); }
  std::size_t rows() const override { return static_cast<std::size_t>(getmaxy(stdscr)); }

  void draw(const std::vector<ScreenLine>& shown) override {
    ::erase();
    for (std::size_t y = 0; y < shown.size() && y < rows(); ++y) {
      ::move(static_cast<int>(y), 0);
      for (const Span& span : shown[y]) {
        const auto style = attributes(span.style);
        ::attrset(static_cast<int>(style));
        ::addstr(span.text.c_str());
      }
    }
    ::attrset(A_NORMAL);
    ::refresh();
  }

  Key wait(double seconds) override {
    if (asked_to_end != 0) return Key::stopped;
    ::timeout(seconds <= 0 ? 0 : static_cast<int>(seconds * 1000) + 1);
    const int key = ::getch();
    if (asked_to_end != 0) return Key::stopped;
    return key_of(key);
  }
  int signal() const override { return asked_to_end; }

 private:
  static Key key_of(int key) {
    switch (key) {
      case ERR:
        return Key::none;
      case 'q':
      case 'Q':
        return Key::quit;
      case KEY_UP:
      case 'k':
        return Key::up;
      case KEY_DOWN:
      case 'j':
        return Key::down;
      case 's':
        return Key::sort;
      case 'm':
        return Key::memory;
      case 'p':
      case ' ':
        return Key::pause;
      case 'r':
        return Key::refresh;
      case '?':
      case 'h':
        return Key::help;
      case KEY_RESIZE:
        return Key::resize;
      default:
        return Key::other;
    }
  }

  attr_t attributes(Style style) const {
    switch (style) {
      case Style::bold:
        return A_BOLD;
      case Style::faint:
        return A_DIM;
      case Style::chosen:
        return A_REVERSE;
      case Style::warning:
        return A_BOLD | (colored_ ? static_cast<attr_t>(COLOR_PAIR(kWarning)) : attr_t{0});
      case Style::alarm:
        return A_BOLD | (colored_ ? static_cast<attr_t>(COLOR_PAIR(kAlarm)) : attr_t{0});
      default:
        return A_NORMAL;
    }
  }

  SCREEN* screen_;
  bool colored_ = false;
};

} // namespace

std::unique_ptr<Terminal> Terminal::open(std::string& why) {
  const char* const name = std::getenv("TERM");
  SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    why = std::string("TERM=") + (name == nullptr ? "" : name) + " is not a terminal that ncurses knows";
    return nullptr;
  }
  char cup[] = "cup";
  const char* const moves = ::tigetstr(cup);
  if (moves == nullptr || moves == reinterpret_cast<char*>(-1)) {
    ::endwin();
    ::delscreen(screen);
    why = std::string("TERM=") + (name == nullptr ? "" : name) + " cannot move its cursor";
    return nullptr;
  }
  return std::make_unique<CursesTerminal>(screen);
}

} // namespace memtrace::cli
