# SPDX-License-Identifier: GPL-2.0-or-later
#
# Included by the top Makefile: man pages, installation, and the Debian package (docs/packaging.md).

.PHONY: man install deb
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/peaktop
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR ?= $(PREFIX)/lib/systemd/system

# --- man pages: templates, and the program's own table of which verb takes which option
MAN_IN := docs/man/peaktop.1 $(sort $(wildcard docs/man/peaktop-*.1))
MAN := $(MAN_IN:docs/man/%=$(B)/man/%)
man: $(MAN)
$(B)/man/options: $(B)/peaktop
	@mkdir -p $(@D)
	$(Q)$(B)/peaktop --dump-options >$@.tmp
	$(Q)cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@
$(B)/man/%.1: docs/man/%.1 $(B)/man/options $(MAN_IN) $(wildcard docs/man/*.man) docs/man/expand.awk Makefile
	@echo "  MAN     $@"
	$(Q)awk -v folder=docs/man -v pages="$(MAN_IN)" -v version=$(VERSION) -v date=$(RELEASED) \
		-f docs/man/expand.awk $(B)/man/options docs/man/options.man $< >$@.tmp && mv $@.tmp $@

# --- install
install: $(B)/peaktop $(MAN)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(DOCDIR)/docs/notes \
		$(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR) \
		$(DESTDIR)$(UNITDIR)
	install -m 755 $(B)/peaktop $(DESTDIR)$(PREFIX)/bin/peaktop
	install -m 644 $(MAN) $(DESTDIR)$(MANDIR)/man1
	install -m 644 docs/completion/peaktop.bash $(DESTDIR)$(BASHCOMPDIR)/peaktop
	install -m 644 docs/completion/peaktop.zsh $(DESTDIR)$(ZSHCOMPDIR)/_peaktop
	install -m 644 docs/completion/peaktop.fish $(DESTDIR)$(FISHCOMPDIR)/peaktop.fish
	install -m 644 README.md docs/peaktop.schema.json $(DESTDIR)$(DOCDIR)
	install -m 644 docs/*.md $(DESTDIR)$(DOCDIR)/docs
	install -m 644 docs/notes/*.md $(DESTDIR)$(DOCDIR)/docs/notes
	sed 's,@BINDIR@,$(PREFIX)/bin,' docs/systemd/peaktop@.service >$(B)/peaktop@.service
	install -m 644 $(B)/peaktop@.service $(DESTDIR)$(UNITDIR)/peaktop@.service
	ln -sf ../peaktop.schema.json $(DESTDIR)$(DOCDIR)/docs/peaktop.schema.json

# --- the Debian package; needs dpkg-dev beside what the build needs, and no network
DEB_ARCH = $(shell dpkg --print-architecture)
deb:
	$(Q)tests/deps.sh build package
	@$(MAKE) --no-print-directory -j$(or $(JOBS),$(shell nproc)) $(B)/peaktop $(MAN)
	$(Q)docs/debian/build.sh $(B) $(VERSION) $(RELEASED)
