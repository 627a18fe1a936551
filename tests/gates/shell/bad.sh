#!/usr/bin/env bash
# A planted fault of the shell gate.
if true; then echo planted
