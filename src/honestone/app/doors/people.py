"""A person who is asked in the browser, for the door that serves the pages."""

from honestone.adapters.people.browser import AskedEdit as AskedEdit
from honestone.adapters.people.browser import AskedSheet as AskedSheet
from honestone.adapters.people.browser import BrowserPerson as BrowserPerson
from honestone.adapters.people.browser import PersonDesk as PersonDesk
from honestone.adapters.people.sheet import HANGUL_KEYS as HANGUL_KEYS
